// Real ranks under mpirun that are stopped, killed and delayed: the right one is named in time and
// nothing stays behind.
#include "runtime/watchdog/watchdog.hpp"
#include "tests/support/tier.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>
#include <cstdlib>
#include <fstream>
#include <random>
#include <sstream>
#include <thread>

#include "runtime/communicators/mpi/segment_names.hpp"
#include "tests/runtime/watchdog/started_ranks.hpp"

namespace dllaunch {
namespace {

using namespace std::chrono_literals;
using Clock = StartedRanks::Clock;

constexpr int ranks = 3;
constexpr int ranks_of_pipeline = 4;
constexpr int most_ranks = ranks_of_pipeline;
constexpr auto stall = 1s;
constexpr const char* nap = "6.2";  // a busy machine tells of it in time, too

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

bool names(const std::string& line, int rank) {
  return contains(line, "rank " + std::to_string(rank) + " on ");
}

class Stalls : public testing::Test {
 protected:
  void SetUp() override {
    if (!has_mpirun()) GTEST_SKIP() << "no mpirun on this machine";
  }

  /// The first line about a stall or a death since `from` names `rank` and no other, in time.
  static void expect_named(StartedRanks& job, int rank, Clock::time_point from) {
    const auto told = [](const std::string& line) {
      return line.starts_with("stall: ") || contains(line, " died");
    };
    const auto limit = full_tier() ? 2s : 30s;  // in full an idle machine, with nothing beside it
    const auto line = job.find_line(told, from, from + stall + limit);
    ASSERT_TRUE(line) << "rank " << rank << " is not named:\n" << job.text();
    for (int each = 0; each < most_ranks; ++each) {
      EXPECT_EQ(names(line->text, each), each == rank) << line->text << "\nin\n" << job.text();
    }
  }

  /// Stops or kills a rank once all are up and have run for a while: it is named, and all end.
  static void hurt(StartedRanks& job, int victim, bool killed, std::chrono::milliseconds after) {
    ASSERT_TRUE(job.are_up()) << job.text();
    job.listen(after);
    const auto when = Clock::now();
    kill(job.process_of(victim), killed ? SIGKILL : SIGSTOP);
    expect_named(job, victim, when);
    // mpirun ends the other ranks if one dies; if one is stopped, all end with mpirun.
    if (!killed) kill(job.starter(), SIGKILL);
    EXPECT_TRUE(job.all_gone(30s)) << job.text();
  }
};

TEST_F(Stalls, RanksStoppedOrKilledAnywhereAreNamedInTime) {
  const int tries = full_tier() ? 100 : 6;
  std::mt19937 random(20261121);
  for (int i = 0; i < tries; ++i) {
    const bool killed = i % 2 == 1;
    const int victim = static_cast<int>(random() % ranks);
    SCOPED_TRACE(testing::Message()
                 << "try " << i << ", " << (killed ? "KILL" : "STOP") << " of rank " << victim);
    const char* communicator = i % 4 < 2 ? "auto" : "mpi";
    StartedRanks job(ranks, on_this_machine(ranks, {communicator, "1", "60", "60"}));
    hurt(job, victim, killed, std::chrono::milliseconds(100 + random() % 400));
    if (HasFailure()) return;
  }
}

TEST_F(Stalls, RanksThatSleepBeforeAndAfterTheStartOfACollectiveAreNamed) {
  const int tries = full_tier() ? 10 : 1;
  for (int i = 0; i < tries; ++i) {
    for (const std::string where : {"before", "begun", "after"}) {
      SCOPED_TRACE(where);
      StartedRanks job(ranks, on_this_machine(ranks, {"auto", "1", "60", "1", "1", where, nap}));
      const auto sleeps = [](const std::string& line) { return contains(line, " sleeps "); };
      const auto slept = job.find_line(sleeps, {}, Clock::now() + 60s);
      ASSERT_TRUE(slept) << job.text();
      expect_named(job, 1, slept->at);
      // The same line says where it is, and another one reports the recovery.
      const auto over = [](const std::string& line) { return contains(line, " continued after "); };
      if (where != "after") {
        EXPECT_TRUE(job.find_line(over, slept->at, Clock::now() + 30s)) << job.text();
      }
      EXPECT_THAT(job.text(), testing::HasSubstr("nanosleep < ")) << job.text();
      EXPECT_EQ(job.wait(60s), 0) << job.text();
    }
  }
}

/// In the other stage ranks wait for its messages, in its own for their gradients.
TEST_F(Stalls, RanksOfAPipelineStoppedOrKilledAnywhereAreNamedInTime) {
  const int tries = full_tier() ? 50 : 4;
  std::mt19937 random(20261127);
  for (int i = 0; i < tries; ++i) {
    const bool killed = i % 4 == 3;
    const int victim = static_cast<int>(random() % ranks_of_pipeline);
    SCOPED_TRACE(testing::Message()
                 << "try " << i << ", " << (killed ? "KILL" : "STOP") << " of rank " << victim);
    StartedRanks job(ranks_of_pipeline,
                     on_this_machine(ranks_of_pipeline, {"pipeline", "1", "60", "60"}));
    hurt(job, victim, killed, std::chrono::milliseconds(100 + random() % 400));
    if (HasFailure()) return;
  }
}

TEST_F(Stalls, ASlowRankOfAPipelineIsNamedAndTheOthersGoOn) {
  for (const std::string sleeper : {"3", "0"}) {
    if (sleeper == "0" && !full_tier()) break;
    StartedRanks job(
        ranks_of_pipeline,
        on_this_machine(ranks_of_pipeline, {"pipeline", "1", "60", "1", sleeper, "before", nap}));
    const auto sleeps = [](const std::string& line) { return contains(line, " sleeps "); };
    const auto slept = job.find_line(sleeps, {}, Clock::now() + 60s);
    ASSERT_TRUE(slept) << job.text();
    expect_named(job, std::stoi(sleeper), slept->at);
    const auto over = [](const std::string& line) { return contains(line, " continued after "); };
    EXPECT_TRUE(job.find_line(over, slept->at, Clock::now() + 30s)) << job.text();
    EXPECT_THAT(job.text(), testing::HasSubstr("in forward for ")) << job.text();
    EXPECT_THAT(job.text(), testing::HasSubstr("nanosleep < ")) << job.text();
    EXPECT_EQ(job.wait(60s), 0) << job.text();
  }
}

TEST_F(Stalls, ARankThatSleepsWithinACollectiveStandsApartFromTheOthers) {
  StartedRanks job(ranks, on_this_machine(ranks, {"auto", "1", "60", "1", "2", "inside", nap}));
  const auto stuck = [](const std::string& line) {
    return contains(line, "the communication makes no progress");
  };
  const auto line = job.find_line(stuck, {}, Clock::now() + 60s);
  ASSERT_TRUE(line) << job.text();
  // A rank that does what no other does comes first.
  EXPECT_THAT(line->text, testing::HasSubstr("makes no progress: rank 2 on ")) << job.text();
  EXPECT_THAT(line->text, testing::HasSubstr("SleepyCommunicator::wait"));
  EXPECT_EQ(job.wait(60s), 0) << job.text();
}

TEST_F(Stalls, NothingIsReportedWhileAllGoesWell) {
  StartedRanks job(ranks, on_this_machine(ranks, {"auto", "2", "4", "4.5"}));
  EXPECT_EQ(job.wait(60s), 0) << job.text();
  EXPECT_THAT(job.text(), testing::Not(testing::HasSubstr("stall"))) << job.text();
  EXPECT_THAT(job.text(), testing::Not(testing::HasSubstr("died"))) << job.text();
}

/// As in a job that Slurm suspends, whose nodes are resumed one after another.
TEST_F(Stalls, AfterAPauseARankThatIsResumedFirstAccusesNoOther) {
  StartedRanks job(ranks, on_this_machine(ranks, {"auto", "1", "60", "12"}));
  ASSERT_TRUE(job.are_up()) << job.text();
  job.listen(500ms);
  for (int rank = 0; rank < ranks; ++rank) kill(job.process_of(rank), SIGSTOP);
  job.listen(6s);
  kill(job.process_of(0), SIGCONT);
  job.listen(2s);
  for (int rank = 1; rank < ranks; ++rank) kill(job.process_of(rank), SIGCONT);
  EXPECT_EQ(job.wait(60s), 0) << job.text();
  EXPECT_THAT(job.text(), testing::Not(testing::HasSubstr("stall"))) << job.text();
}

TEST_F(Stalls, AfterTheLastWarningEverythingEndsAlsoWhatIsStopped) {
  for (const int victim : {0, 2}) {
    if (victim != 0 && !full_tier()) break;
    SCOPED_TRACE(victim);
    StartedRanks job(ranks, on_this_machine(ranks, {"auto", "1", "2", "60"}));
    ASSERT_TRUE(job.are_up()) << job.text();
    kill(job.process_of(victim), SIGSTOP);
    const auto code = job.wait(60s);
    ASSERT_TRUE(code) << job.text();
    EXPECT_NE(*code, 0);
    EXPECT_TRUE(job.all_gone(30s)) << job.text();
    EXPECT_THAT(job.text(), testing::HasSubstr("gave up after "));
    EXPECT_THAT(job.text(), testing::HasSubstr("(training): ")) << "no dump:\n" << job.text();
  }
}

TEST_F(Stalls, RanksWithoutTheirMpirunEndAlsoWhatIsStopped) {
  StartedRanks job(ranks, on_this_machine(ranks, {"auto", "1", "60", "60"}));
  ASSERT_TRUE(job.are_up()) << job.text();
  // They leave no shared memory either: its names are removed while they run.
  std::ostringstream maps;
  maps << std::ifstream("/proc/" + std::to_string(job.process_of(1)) + "/maps").rdbuf();
  EXPECT_THAT(maps.str(), testing::HasSubstr("_segment."));
  EXPECT_TRUE(mapped_segments(maps.str()).empty()) << maps.str();
  kill(job.process_of(1), SIGSTOP);
  kill(job.starter(), SIGKILL);
  EXPECT_TRUE(job.all_gone(30s)) << job.text();
}

}  // namespace
}  // namespace dllaunch
