// A node of this process and two children, as seen by the watchdog of rank 0.
#include "runtime/watchdog/node_watch.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <thread>

#include "runtime/watchdog/thread_stack.hpp"
#include "support/fatal.hpp"
#include "tests/support/rest.hpp"
#include "tests/support/thread_ranks.hpp"

namespace dllaunch {
namespace {

class NodeOfThree : public testing::Test {
 protected:
  NodeOfThree() {
    run_as_threads(3, [this](std::unique_ptr<Communicator> ranks) {
      auto met = introduce(*ranks, "n1", 1);
      if (ranks->rank() == 0) met_ = std::move(met);
      ranks->wait(ranks->barrier());
    });
    for (const std::size_t rank : {1, 2}) {
      const pid_t child = fork();
      if (child == 0) {
        signal(SIGUSR1, [](int) { ::_exit(fatal_exit_code); });
        signal(SIGUSR2, [](int) { ::_exit(3); });
        while (true) pause();
      }
      met_.roster.members[rank].pid = met_.roster.members[rank].thread = child;
    }
    met_.roster.members[0].thread = static_cast<pid_t>(::syscall(SYS_gettid));
    for (const std::size_t rank : {1, 2}) EXPECT_TRUE(comes_to_rest(pid_of(rank)));
  }
  ~NodeOfThree() override {
    for (const std::size_t rank : {1, 2}) {
      kill(pid_of(rank), SIGKILL);
      waitpid(pid_of(rank), nullptr, 0);
    }
  }
  pid_t pid_of(std::size_t rank) const { return met_.roster.members[rank].pid; }
  void all_alive(std::int64_t now_ns) {
    for (RankRecord* record : met_.board.records()) record->heartbeat_ns = now_ns;
  }
  void wait_for_end(NodeWatch& watch, std::size_t rank, bool reap) {
    auto poll_files = watch.to_poll();
    EXPECT_GT(::poll(poll_files.data(), poll_files.size(), 60'000), 0);
    if (reap) waitpid(pid_of(rank), nullptr, 0);
    watch.notice_ends();
  }

  Acquaintance met_;
};

TEST_F(NodeOfThree, AWaitAgesOnlyWhileTheNodeRuns) {
  constexpr std::int64_t s = 1'000'000'000;
  NodeWatch watch(met_.roster, met_.board);
  met_.board.records()[1]->beacon.waiting_since_ns = 100 * s;
  watch.add_pause(50 * s, 90 * s);
  watch.add_pause(110 * s, 140 * s);
  const auto age_s = [&](std::int64_t now_s) {
    return watch.states(now_s * s)[1].waiting_age_ns / s;
  };
  EXPECT_EQ(age_s(145), 15);
  watch.add_pause(150 * s, 950 * s);
  EXPECT_EQ(age_s(960), 30);
  met_.board.records()[1]->beacon.waiting_since_ns = 149 * s;
  EXPECT_EQ(age_s(960), 11);
  met_.board.records()[1]->beacon.waiting_since_ns = 900 * s;
  EXPECT_EQ(age_s(960), 10) << "began on a rank that was stopped later, or resumed earlier";
}

TEST_F(NodeOfThree, ADeathIsNoticedAtOnceAndItsCauseNamed) {
  NodeWatch watch(met_.roster, met_.board);
  watch.notice_ends();
  EXPECT_FALSE(watch.states(monotonic_ns())[1].dead);
  kill(pid_of(1), SIGKILL);
  wait_for_end(watch, 1, false);
  EXPECT_TRUE(watch.states(monotonic_ns())[1].dead);
  EXPECT_EQ(watch.end_of(1), "died of SIGKILL") << "a zombie";
  EXPECT_EQ(watch.end_of(2), "");
  EXPECT_EQ(watch.to_poll().size(), 1u) << "or the watchdog would never sleep again";
}

TEST_F(NodeOfThree, KnowsADeathAfterReapingIfTheKernelReportsIt) {
  NodeWatch watch(met_.roster, met_.board);
  kill(pid_of(2), SIGUSR2);
  wait_for_end(watch, 2, true);
  EXPECT_TRUE(watch.states(monotonic_ns())[2].dead);
  EXPECT_THAT(watch.end_of(2), testing::AnyOf("ended with exit code 3", "died"));
}

TEST_F(NodeOfThree, RanksThatLeftOrReportedTheirOwnEndAreNotAnnounced) {
  NodeWatch watch(met_.roster, met_.board);
  met_.board.records()[1]->left = true;
  kill(pid_of(1), SIGKILL);
  wait_for_end(watch, 1, false);
  EXPECT_FALSE(watch.states(monotonic_ns())[1].dead);
  kill(pid_of(2), SIGUSR1);
  wait_for_end(watch, 2, false);
  EXPECT_TRUE(watch.states(monotonic_ns())[2].dead);
  EXPECT_EQ(watch.end_of(2), "") << "it die()d";
}

TEST_F(NodeOfThree, TheLowestRankThatRunsSpeaks) {
  const std::int64_t now = monotonic_ns();
  Roster seen_by_last = met_.roster;
  seen_by_last.rank = 2;
  NodeWatch last(seen_by_last, met_.board);
  all_alive(now);
  EXPECT_FALSE(last.is_speaker(now));
  met_.board.records()[0]->heartbeat_ns = now - stale_heartbeat_ns - 1;
  EXPECT_FALSE(last.is_speaker(now));
  met_.board.records()[1]->left = true;
  EXPECT_TRUE(last.is_speaker(now));
}

TEST_F(NodeOfThree, ARankThatCannotAnswerIsDescribedByTheKernel) {
  NodeWatch watch(met_.roster, met_.board);
  const std::int64_t now = monotonic_ns();
  all_alive(now);
  met_.board.records()[1]->heartbeat_ns = now - stale_heartbeat_ns - 1;
  kill(pid_of(1), SIGSTOP);
  waitpid(pid_of(1), nullptr, WUNTRACED);
  watch.ask(1, now);
  EXPECT_EQ(watch.told(1, now), "stopped");

  // Its watchdog runs, but it does not answer in time.
  watch.ask(2, now);
  EXPECT_FALSE(watch.told(2, now));
  EXPECT_THAT(watch.told(2, now + 400'000'000).value_or(""), testing::StartsWith("asleep"));
}

TEST_F(NodeOfThree, ARankAnswersForItself) {
  prepare_stacks();
  NodeWatch watch(met_.roster, met_.board);
  const std::int64_t now = monotonic_ns();
  all_alive(now);
  watch.ask(0, now);
  EXPECT_FALSE(watch.told(0, now));
  std::thread own_watchdog([&] { watch.answer_for_self(); });
  own_watchdog.join();
  ASSERT_TRUE(watch.told(0, now));
  EXPECT_FALSE(watch.told(0, now)->empty());
}

TEST_F(NodeOfThree, SignalsReachTheProcess) {
  NodeWatch watch(met_.roster, met_.board);
  kill(pid_of(1), SIGSTOP);
  watch.signal(1, SIGKILL);
  int status = 0;
  ASSERT_EQ(waitpid(pid_of(1), &status, 0), pid_of(1));
  EXPECT_EQ(WTERMSIG(status), SIGKILL);
}

}  // namespace
}  // namespace dllaunch
