// Watchdogs of ranks that are threads of this process: through memory on one node, through
// datagrams on several.
#include "runtime/watchdog/watch.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdio>
#include <mutex>
#include <optional>
#include <thread>

#include "runtime/activity/observed_communicator.hpp"
#include "support/fatal.hpp"
#include "tests/support/thread_ranks.hpp"

namespace dllaunch {
namespace {

using namespace std::chrono_literals;

struct Told {
  std::mutex mutex;
  std::vector<StallNotice> notices;

  /// However busy the machine is.
  void wait_for_the_first() {
    const auto deadline = std::chrono::steady_clock::now() + 60s;
    const auto none = [this] {
      const std::lock_guard<std::mutex> lock(mutex);
      return notices.empty();
    };
    while (none() && std::chrono::steady_clock::now() < deadline) std::this_thread::sleep_for(10ms);
  }
};

/// `ranks` ranks on `nodes` nodes; `late` sleeps before its 10th collective, by default until that
/// is told.
std::vector<StallNotice> notices_of(int ranks, int nodes, int late,
                                    std::optional<std::chrono::milliseconds> nap = {}) {
  Told told;
  run_as_threads(ranks, [&](std::unique_ptr<Communicator> inner) {
    const int rank = inner->rank();
    Activity activity;
    std::unique_ptr<Watchdog> watchdog;
    ObservedCommunicator communicator(std::move(inner), activity);
    watchdog = Watchdog::start({.stall_seconds = 1,
                                .stall_abort_seconds = 60,
                                .host = "n" + std::to_string(rank * nodes / ranks),
                                .say =
                                    [&](const StallNotice& notice) {
                                      const std::lock_guard<std::mutex> lock(told.mutex);
                                      told.notices.push_back(notice);
                                    }},
                               communicator, activity);
    for (int round = 0; round < 20; ++round) {
      activity.set_step(round);
      activity.enter(RankPhase::backward);
      if (round == 10 && rank == late) {
        if (nap) std::this_thread::sleep_for(*nap);
        if (!nap) told.wait_for_the_first();
      }
      activity.enter(RankPhase::reduce);
      communicator.wait(communicator.barrier());
    }
    activity.enter(RankPhase::end);
  });
  return told.notices;
}

void expect_stall_of(int late, const std::vector<StallNotice>& notices) {
  ASSERT_GE(notices.size(), 2u);
  EXPECT_EQ(notices[0].state, StallState::late);
  EXPECT_EQ(notices[0].late_ranks, std::vector<int>{late});
  EXPECT_GE(notices[0].seconds, 1);
  EXPECT_LT(notices[0].seconds, 60);
  EXPECT_THAT(notices[0].collective, testing::StartsWith("barrier #"));
  EXPECT_THAT(notices[0].line, testing::HasSubstr("rank " + std::to_string(late) + " on n"));
  EXPECT_THAT(notices[0].line, testing::HasSubstr("has not arrived (backward for "));
  EXPECT_EQ(notices.back().state, StallState::over);
}

TEST(Watch, OfOneNodeNamesTheRankThatIsLate) {
  expect_stall_of(2, notices_of(3, 1, 2));
  expect_stall_of(0, notices_of(2, 1, 0));
}

TEST(Watch, OfSeveralNodesNamesTheRankThatIsLate) {
  if (host_addresses().empty()) GTEST_SKIP() << "no network address here but loopback";
  expect_stall_of(0, notices_of(2, 2, 0));
  expect_stall_of(5, notices_of(6, 3, 5));
}

/// Three stages on as many nodes: each waits for the next one, the last one sleeps.
TEST(Watch, OfSeveralNodesFollowsMessagesToTheRankThatIsLate) {
  if (host_addresses().empty()) GTEST_SKIP() << "no network address here but loopback";
  Told told;
  run_as_threads(3, [&](std::unique_ptr<Communicator> communicator) {
    const int rank = communicator->rank();
    Activity activity;
    const auto watchdog = Watchdog::start({.stall_seconds = 1,
                                           .stall_abort_seconds = 60,
                                           .host = "n" + std::to_string(rank),
                                           .group = rank,
                                           .say =
                                               [&](const StallNotice& notice) {
                                                 const std::lock_guard<std::mutex> lock(told.mutex);
                                                 told.notices.push_back(notice);
                                               }},
                                          *communicator, activity);
    activity.enter(RankPhase::forward);
    if (rank == 2) {
      told.wait_for_the_first();
    } else {
      activity.enter(RankPhase::pipeline);
      activity.begin_wait_for(rank + 1);
    }
    communicator->wait(communicator->barrier());  // in place of the messages
    activity.end_wait();
    activity.enter(RankPhase::end);
  });
  ASSERT_GE(told.notices.size(), 2u);
  EXPECT_EQ(told.notices[0].late_ranks, std::vector<int>{2});
  EXPECT_THAT(told.notices[0].line, testing::HasSubstr(": rank 2 on n2 "));
  EXPECT_THAT(told.notices[0].line, testing::HasSubstr("has been in forward for "));
  EXPECT_THAT(told.notices[0].collective, testing::StartsWith("message of rank "));
  EXPECT_EQ(told.notices.back().state, StallState::over);
}

TEST(Watch, SaysNothingWhileNothingIsLate) {
  EXPECT_TRUE(notices_of(4, 2, 1, 300ms).empty());
}

constexpr std::int64_t second = 1'000'000'000;

/// The watchdog of a one-rank job that has waited for its first collective since time 0, ticking at
/// the given times. It would end this process if it gave up.
std::vector<StallNotice> told_at(const std::vector<std::int64_t>& times, double stall_seconds) {
  std::vector<StallNotice> notices;
  run_as_threads(1, [&](std::unique_ptr<Communicator> communicator) {
    Watch watch({.stall_seconds = stall_seconds,
                 .stall_abort_seconds = 600,
                 .host = "n0",
                 .say = [&](const StallNotice& notice) { notices.push_back(notice); }},
                introduce(*communicator, "n0", 0), std::nullopt);
    Beacon& beacon = watch.record().beacon;
    beacon.collectives[0].begun = 1;
    beacon.waiting_since_ns = times.front();
    beacon.waiting_for = 1;
    for (const std::int64_t time : times) watch.tick(time);
  });
  return notices;
}

TEST(Watch, ASuspensionOfTheJobIsNotWaiting) {
  std::vector<std::int64_t> times;
  for (int i = 0; i < 30; ++i) times.push_back(1000 * second + i * second / 10);
  for (int i = 0; i < 300; ++i) times.push_back(1900 * second + i * second / 10);
  EXPECT_TRUE(told_at(times, 60).empty());
  for (int i = 300; i < 700; ++i) times.push_back(1900 * second + i * second / 10);
  const auto late = told_at(times, 60);
  ASSERT_EQ(late.size(), 1u) << "a minute after it went on";
  EXPECT_NEAR(late[0].seconds, 60, 2);
}

TEST(Watch, AStarvedOneStillJudges) {
  std::vector<std::int64_t> times;
  for (int i = 0; i < 10; ++i) times.push_back(1000 * second + i * 7 * second / 10);
  EXPECT_FALSE(told_at(times, 1).empty()) << "7 s";
}

/// The other node answers no question, and rank 0 has waited for longer than it takes to give up.
[[noreturn]] void give_up_on_a_silent_node() {
  run_as_threads(2, [&](std::unique_ptr<Communicator> communicator) {
    auto acquaintance = introduce(*communicator, communicator->rank() == 0 ? "n0" : "n1", 0);
    if (communicator->rank() != 0) return;
    Watch watch({.stall_seconds = 1,
                 .stall_abort_seconds = 1.5,
                 .host = "n0",
                 .say =
                     [](const StallNotice& notice) {
                       if (notice.state != StallState::gave_up) return;
                       std::fprintf(stderr, "%s\n", notice.line.c_str());
                       ::_exit(5);
                     }},
                std::move(acquaintance), std::nullopt);
    Beacon& beacon = watch.record().beacon;
    beacon.collectives[0].begun = 1;
    beacon.waiting_since_ns = 1000 * second;
    beacon.waiting_for = 1;
    for (int i = 0; i < 100; ++i) watch.tick(1000 * second + i * second / 10);
  });
  ::_exit(6);
}

TEST(Watch, ARankNeverHeardFromIsNotSaidToBeLate) {
  EXPECT_EXIT(give_up_on_a_silent_node(), testing::ExitedWithCode(5), "no word from n1");
}

/// Ends a child that stands for a rank, and waits until that shows.
void end_rank(pid_t child) {
  ::kill(child, SIGKILL);
  siginfo_t ended = {};
  ::waitid(P_PID, static_cast<id_t>(child), &ended, WEXITED | WNOWAIT);
}

/// Rank 1 dies, the launcher asks all to end, and rank 0, which speaks, dies before it has told.
[[noreturn]] void outlive_the_speaker() {
  std::optional<Acquaintance> met;
  run_as_threads(3, [&](std::unique_ptr<Communicator> ranks) {
    auto acquaintance = introduce(*ranks, "n1", 0);
    if (ranks->rank() == 2) met = std::move(acquaintance);
    ranks->wait(ranks->barrier());
  });
  std::vector<pid_t> children;
  for (const std::size_t rank : {0, 1}) {
    const pid_t child = ::fork();
    if (child == 0) {
      while (true) ::pause();
    }
    met->roster.members[rank].pid = met->roster.members[rank].thread = child;
    children.push_back(child);
  }
  bool ending = false;
  const auto records = met->board.records();
  Watch watch({.stall_seconds = 60,
               .stall_abort_seconds = 600,
               .host = "n1",
               .say =
                   [](const StallNotice& notice) {
                     std::fprintf(stderr, "told: %s\n", notice.line.c_str());
                   },
               .ending = [&] { return ending; }},
              *std::move(met), std::nullopt);
  std::int64_t now = 1000 * second;
  const auto tick = [&](std::int64_t ms) {
    now += ms * second / 1000;
    for (RankRecord* record : records) record->heartbeat_ns = now;
    watch.tick(now);
  };
  tick(100);
  end_rank(children[1]);
  tick(100);
  ending = true;
  tick(100);
  tick(400);
  end_rank(children[0]);
  for (int i = 0; i < 100; ++i) tick(100);
  ::_exit(6);
}

TEST(Watch, WhereTheSpeakerDiesTooTheNextOneTellsAndEndsTheNode) {
  EXPECT_EXIT(outlive_the_speaker(), testing::ExitedWithCode(fatal_exit_code),
              "told: .*rank 1 .*died of SIGKILL[^~]*a rank of this node has died");
}

}  // namespace
}  // namespace dllaunch
