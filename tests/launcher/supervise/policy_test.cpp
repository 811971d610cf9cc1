// Every way in which an attempt ends, and what is done then.
#include "launcher/supervise/policy.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>

#include "tests/launcher/supervise/attempts.hpp"

namespace dllaunch {
namespace {

using testing::HasSubstr;

struct Case {
  const char* name;
  std::vector<Attempt> history;
  RecoverySettings settings;
  std::optional<double> seconds_left;
  Next next;
  RunStatus status;
  int exit_code;  // of a stop
  const char* reason;
};

void PrintTo(const Case& one, std::ostream* out) {
  *out << one.name;
}

class Policy : public testing::TestWithParam<Case> {};

TEST_P(Policy, Decides) {
  const auto& one = GetParam();
  const auto decision = decide(one.history, one.settings, one.seconds_left);
  EXPECT_EQ(to_string(decision.next), to_string(one.next)) << decision.reason;
  EXPECT_EQ(to_string(decision.status), to_string(one.status));
  EXPECT_THAT(decision.reason, HasSubstr(one.reason));
  if (one.next == Next::stop) {
    EXPECT_EQ(decision.exit_code, one.exit_code);
  }
  EXPECT_LE(decision.exit_code, 128) << "more would be a signal";
}

constexpr RequeueOn nothing{.timeout = false, .preempted = false, .node_fail = false};
constexpr auto failed = RunStatus::failed;

const Case cases[] = {
    {"Completed", {ended(Cause::completed)}, training, {}, Next::stop, RunStatus::completed, 0, ""},
    {"Cancelled",
     {ended(Cause::cancelled)},
     training,
     {},
     Next::stop,
     RunStatus::cancelled,
     0,
     "asked to stop"},
    {"CancelledWithACode",
     {ended(Cause::cancelled, 143)},
     command,
     {},
     Next::stop,
     RunStatus::cancelled,
     1,
     "asked to stop"},
    {"Superseded",
     {ended(Cause::superseded, 137)},
     training,
     {},
     Next::stop,
     failed,
     1,
     "another copy"},
    {"RankKilled",
     {killed(1)},
     training,
     {},
     Next::restart,
     failed,
     0,
     "rank 1 on n2 was killed by signal 9 (SIGKILL); restart 1 of 3"},
    {"RankKilledAgainAfterACheckpoint",
     {saved(killed(1)), saved(killed(1))},
     training,
     {},
     Next::restart,
     failed,
     0,
     "restart 2 of 3"},
    {"RankKilledTooOften",
     {saved(killed(1)), saved(killed(1)), saved(killed(0)), saved(killed(1))},
     training,
     {},
     Next::stop,
     failed,
     1,
     "3 restarts did not help"},
    {"ThreeWithoutACheckpoint",
     {killed(1), killed(0), killed(1)},
     training,
     {},
     Next::stop,
     failed,
     1,
     "3 attempts in a row ended without a new checkpoint"},
    {"ThreeWithoutACheckpointOfACommand",
     {killed(1), killed(0), killed(1)},
     command,
     {},
     Next::restart,
     failed,
     0,
     "restart 3 of 3"},
    {"ACheckpointInBetweenCounts",
     {killed(1), saved(killed(0)), killed(1), killed(1)},
     training,
     {},
     Next::stop,
     failed,
     1,
     "3 restarts did not help"},
    {"ExitOnce",
     {exited(1, 1)},
     training,
     {},
     Next::restart,
     failed,
     0,
     "rank 1 on n2 exited with code 1; restart 1 of 3"},
    {"ExitAlwaysTheSame",
     {exited(1, 1), exited(1, 1)},
     training,
     {},
     Next::stop,
     failed,
     1,
     "the same as before"},
    {"ExitOfACommandAlwaysTheSame",
     {exited(1, 7), exited(1, 7)},
     command,
     {},
     Next::stop,
     failed,
     7,
     "the same as before"},
    {"SameErrorOfTheSameRank",
     {exited(1, 1, "ValueError: bad 17"), exited(1, 1, "ValueError: bad 18")},
     training,
     {},
     Next::stop,
     failed,
     1,
     "the same as before"},
    {"AnotherErrorOfTheSameRank",
     {exited(1, 1, "ValueError: bad"), exited(1, 1, "OSError: gone")},
     training,
     {},
     Next::restart,
     failed,
     0,
     "restart 2 of 3"},
    {"SameErrorOfAnotherRank",
     {exited(0, 1, "OSError: gone"), exited(1, 1, "OSError: gone")},
     training,
     {},
     Next::restart,
     failed,
     0,
     "restart 2 of 3"},
    {"SameErrorFurtherOn",
     {exited(1, 1, "ValueError: bad"), saved(exited(1, 1, "ValueError: bad"))},
     training,
     {},
     Next::restart,
     failed,
     0,
     "restart 2 of 3"},
    {"CrashesAtTheSamePlace",
     {killed(1, SIGSEGV), killed(1, SIGSEGV)},
     training,
     {},
     Next::stop,
     failed,
     1,
     "the same as before"},
    {"ConfigurationError", {exited(0, 2)}, training, {}, Next::stop, failed, 2, "the same"},
    {"NeverAgain", {exited(1, 93)}, training, {}, Next::stop, failed, 93, "never restart"},
    {"NeverAgainNearTheLimit",
     {exited(1, 93)},
     command,
     5,
     Next::stop,
     failed,
     93,
     "never restart"},
    {"NoRestartsAskedFor",
     {killed(1)},
     with(training, 0),
     {},
     Next::stop,
     failed,
     1,
     "rank 1 on n2 was killed by signal 9 (SIGKILL)"},
    {"CommandWithoutRecovery",
     {exited(1, 3)},
     unprepared,
     {},
     Next::stop,
     failed,
     3,
     "rank 1 on n2 exited with code 3"},
    {"Stalled",
     {ended(Cause::stalled, 137)},
     training,
     {},
     Next::restart,
     failed,
     0,
     "restart 1 of 3"},
    {"StarterSaidZero",
     {ended(Cause::unproven)},
     training,
     {},
     Next::restart,
     failed,
     0,
     "before the work was done"},
    {"StarterSaidZeroAndNothingIsLeft",
     {ended(Cause::unproven)},
     with(training, 0),
     {},
     Next::stop,
     failed,
     1,
     "before the work was done"},
    {"SupervisorKilled",
     {ended(Cause::cut_short), killed(1)},
     training,
     {},
     Next::restart,
     failed,
     0,
     "restart 2 of 3"},
    {"TooNearTheTimeLimitInEachAllocation",
     {killed(1), in_allocation(1, killed(0)), in_allocation(2, killed(1)),
      in_allocation(3, killed(1))},
     command,
     10,
     Next::stop,
     failed,
     1,
     "4 starts in a row have failed, in 4 allocations"},
    {"LostNode",
     {ended(Cause::lost_node, 137)},
     training,
     {},
     Next::requeue,
     RunStatus::node_fail,
     0,
     "lost a node"},
    {"LostNodeOfACommand",
     {ended(Cause::lost_node)},
     unprepared,
     {},
     Next::requeue,
     RunStatus::node_fail,
     0,
     "lost a node"},
    {"LostNodeAndThatIsIt",
     {ended(Cause::lost_node)},
     with(training, 3, nothing),
     {},
     Next::stop,
     RunStatus::node_fail,
     1,
     "does not list node_fail"},
    {"TimeLimit",
     {saved(ended(Cause::time_limit))},
     training,
     100,
     Next::requeue,
     RunStatus::timeout,
     0,
     "time limit"},
    {"TimeLimitAndThatIsIt",
     {ended(Cause::time_limit)},
     with(training, 3, nothing),
     100,
     Next::stop,
     RunStatus::timeout,
     1,
     "does not list timeout"},
    {"TimeLimitOfACommandWithoutRecovery",
     {ended(Cause::time_limit, 140)},
     unprepared,
     100,
     Next::stop,
     RunStatus::timeout,
     1,
     "does not list timeout"},
    {"TimeLimitThriceWithoutACheckpoint",
     {ended(Cause::time_limit), ended(Cause::time_limit), ended(Cause::time_limit)},
     training,
     100,
     Next::stop,
     RunStatus::timeout,
     1,
     "3 attempts in a row"},
    {"ACommandThatHungTwice",
     {hung(ended(Cause::time_limit, 143)), hung(ended(Cause::time_limit, 143))},
     command,
     100,
     Next::requeue,
     RunStatus::timeout,
     1,
     "requeueing"},
    {"ACommandThatHungThrice",
     {hung(ended(Cause::time_limit, 143)), hung(ended(Cause::time_limit, 143)),
      hung(ended(Cause::time_limit, 137))},
     command,
     100,
     Next::stop,
     RunStatus::timeout,
     1,
     "3 times in a row there was no progress"},
    {"ACommandThatHungThriceButNotInARow",
     {hung(ended(Cause::time_limit, 143)), hung(ended(Cause::time_limit, 143)),
      ended(Cause::time_limit, 143), hung(ended(Cause::time_limit, 143))},
     command,
     100,
     Next::requeue,
     RunStatus::timeout,
     1,
     "requeueing"},
    {"Preempted",
     {ended(Cause::preempted, 143)},
     training,
     {},
     Next::requeue,
     RunStatus::preempted,
     0,
     "preempted"},
    {"PreemptedAndThatIsIt",
     {ended(Cause::preempted)},
     with(training, 3, nothing),
     {},
     Next::stop,
     RunStatus::preempted,
     1,
     "does not list preempted"},
    {"RequeuedByHand",
     {ended(Cause::requeued, 143)},
     training,
     {},
     Next::requeue,
     failed,
     0,
     "scontrol"},
    {"RequeuedByHandAgainAndAgain",
     {ended(Cause::requeued), ended(Cause::requeued), ended(Cause::requeued, 143)},
     training,
     {},
     Next::requeue,
     failed,
     0,
     "scontrol"},
    {"TooLateForARestart",
     {saved(killed(1))},
     training,
     140,
     Next::requeue,
     failed,
     0,
     "too near the time limit"},
    {"TooLateForARestartAndThatIsIt",
     {saved(killed(1))},
     with(training, 3, nothing),
     140,
     Next::stop,
     failed,
     1,
     "too near the time limit"},
    {"TimeEnoughForARestart",
     {saved(killed(1))},
     training,
     200,
     Next::restart,
     failed,
     0,
     "restart 1 of 3"},
};

INSTANTIATE_TEST_SUITE_P(Cells, Policy, testing::ValuesIn(cases),
                         [](const auto& cell) { return std::string(cell.param.name); });

Attempt out_of_memory(int rank) {
  auto attempt = killed(rank);
  attempt.dead.out_of_memory = true;
  return attempt;
}

TEST(Policy, MemoryThatIsFullTwiceIsFullForEver) {
  EXPECT_EQ(decide({out_of_memory(1)}, training, {}).next, Next::restart);
  const auto decision = decide({out_of_memory(1), out_of_memory(1)}, training, {});
  EXPECT_EQ(decision.next, Next::stop);
  EXPECT_EQ(decision.status, RunStatus::out_of_memory);
}

TEST(Policy, AnotherAllocationHasItsOwnRestarts) {
  std::vector<Attempt> history(4, saved(killed(1)));
  EXPECT_EQ(decide(history, command, {}).next, Next::stop);
  history.back().allocation = 1;
  const auto decision = decide(history, command, {});
  EXPECT_EQ(decision.next, Next::restart);
  EXPECT_THAT(decision.reason, HasSubstr("restart 1 of 3"));
}

/// The restart that finds out whose they are is no fault of its own.
TEST(Policy, WrongNumbersOfTwoReplicasCountOnce) {
  auto asked = ended(Cause::corrupted, 1);
  asked.asks = true;
  auto answered = asked;
  answered.asks = false;
  answered.dead.rank = 1;
  const auto decided = [](const std::vector<Attempt>& history) {
    return decide(history, with(training, 2), {});
  };
  EXPECT_THAT(decided({asked}).reason, HasSubstr("restart 1 of 2"));
  EXPECT_THAT(decided({asked, answered}).reason, HasSubstr("restart 1 of 2"));
  EXPECT_THAT(decided({asked, answered, asked, answered}).reason, HasSubstr("restart 2 of 2"));
  EXPECT_EQ(decided({asked, answered, asked, answered, asked}).next, Next::stop);
  EXPECT_EQ(decided({asked, answered}).backoff, decided({asked}).backoff);
  // No rank was found in any of them: each is a restart.
  EXPECT_EQ(decided({saved(asked), asked, asked}).next, Next::stop);
  // The steps were not to be computed again: the next attempt met another fault.
  auto unknown = asked;
  unknown.asks = false;
  EXPECT_THAT(decided({unknown, answered}).reason, HasSubstr("restart 2 of 2"));
  // In another allocation the question is forgotten.
  EXPECT_EQ(decided({saved(asked), in_allocation(1, answered)}).next, Next::restart);
  // A checkpoint before the question is progress of both.
  EXPECT_EQ(decide({asked, saved(asked), answered, answered}, training, {}).next, Next::restart);
}

/// A new job of the run is a new try by the user: attempts of earlier jobs do not count.
TEST(Policy, AnotherJobBeginsAnew) {
  std::vector<Attempt> history(3, exited(1, 1));
  history.back().job = "18";
  EXPECT_EQ(decide(history, training, {}).next, Next::restart);
}

TEST(Policy, TheBackoffDoublesAndHasAnEnd) {
  auto settings = with(command, 1000);
  std::vector<Attempt> history;
  std::chrono::milliseconds before{0};
  for (int i = 0; i < 20; ++i) {
    history.push_back(killed(i));
    const auto backoff = decide(history, settings, {}).backoff;
    EXPECT_GE(backoff, before);
    EXPECT_LE(backoff, std::chrono::minutes(1));
    before = backoff;
  }
  EXPECT_EQ(before, std::chrono::minutes(1));
  EXPECT_EQ(decide({saved(killed(1))}, training, {}).backoff, std::chrono::seconds(1));
}

TEST(Policy, ASupervisorThatWasKilledGoesOn) {
  const auto cut = ended(Cause::cut_short);
  EXPECT_FALSE(decide_at_start({}, training, true));
  EXPECT_FALSE(decide_at_start({killed(1)}, training, true)) << "its end was seen";
  EXPECT_FALSE(decide_at_start({cut}, training, true));
  EXPECT_TRUE(decide_at_start({cut, cut, cut}, training, true));
  EXPECT_TRUE(decide_at_start({cut, cut, cut}, training, false)) << "a node that kills";
  EXPECT_TRUE(decide_at_start({cut}, unprepared, true));
  const auto lost = ended(Cause::lost_node);
  EXPECT_TRUE(decide_at_start({lost, lost, lost}, training, false)) << "it was given up";
  EXPECT_FALSE(decide_at_start({lost, lost, saved(lost)}, training, false));
  EXPECT_FALSE(decide_at_start({lost}, training, false));
  EXPECT_FALSE(decide_at_start({cut}, unprepared, false)) << "Slurm itself has started it again";
}

}  // namespace
}  // namespace dllaunch
