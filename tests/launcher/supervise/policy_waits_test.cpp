// Ranks that could not be started: Slurm's controller is away, or a node that it has not missed
// yet.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/launcher/supervise/attempts.hpp"

namespace dllaunch {
namespace {

using testing::HasSubstr;

const Attempt away = ended(Cause::not_started, 1);

TEST(PolicyWaits, ForTheControllerAndThatCostsNothing) {
  const auto decision = decide({killed(1), away}, training, {});
  EXPECT_EQ(decision.next, Next::restart);
  EXPECT_THAT(decision.reason,
              HasSubstr("controller does not answer; this does not count as a restart"));
  EXPECT_EQ(decide({away}, unprepared, {}).next, Next::restart) << "nothing has begun";
  const auto after = decide({killed(1), away, away, killed(0)}, training, {});
  EXPECT_EQ(after.next, Next::restart);
  EXPECT_THAT(after.reason, HasSubstr("restart 2 of 3"));
}

TEST(PolicyWaits, ButNotForEver) {
  const auto decision = decide(std::vector<Attempt>(61, away), training, {});
  EXPECT_EQ(decision.next, Next::stop);
  EXPECT_EQ(decision.exit_code, 3);
  EXPECT_THAT(decision.reason, HasSubstr("(61 in a row)"));
}

/// Who is killed by Slurm at the limit does not come back.
TEST(PolicyWaits, NearTheTimeLimitItGoesBackIntoTheQueue) {
  const auto decision = decide({away}, training, 10);
  EXPECT_EQ(decision.next, Next::requeue);
  EXPECT_TRUE(decision.ask_slurm);
  EXPECT_THAT(decision.reason, HasSubstr("(1 in a row); requeueing"));
  const std::vector<Attempt> nine(9, away);
  EXPECT_EQ(decide(nine, training, 80).next, Next::requeue) << "the next try would come too late";
  EXPECT_EQ(decide(nine, training, 100).next, Next::restart);
  EXPECT_EQ(decide({away}, unprepared, 10).next, Next::stop) << "the job does not ask for it";
  const RequeueOn nothing{.timeout = false, .preempted = false, .node_fail = false};
  EXPECT_EQ(decide({away}, with(training, 3, nothing), 10).next, Next::stop);
}

TEST(PolicyWaits, ForSlurmToMissANode) {
  const auto decision = decide({killed(1), unreachable()}, training, {});
  EXPECT_EQ(decision.next, Next::restart);
  EXPECT_THAT(decision.reason,
              HasSubstr("node n3 does not answer; this does not count as a restart"));
  const std::vector<Attempt> many(16, unreachable());
  const auto back = decide(many, training, {});
  EXPECT_EQ(back.next, Next::requeue);
  EXPECT_THAT(back.reason, HasSubstr("node n3 does not answer (16 in a row); requeueing"));
  EXPECT_EQ(decide(many, unprepared, {}).next, Next::stop);
}

TEST(PolicyWaits, NodesAreLookedAtBeforeTheStartsThatTheJobFileSays) {
  auto settings = training;
  settings.plan.preflight = PreflightWhen::never;
  EXPECT_FALSE(is_preflight_due({killed(1)}, settings, true));
  settings.plan.preflight = PreflightWhen::restarts;
  EXPECT_FALSE(is_preflight_due({}, settings, true));
  EXPECT_TRUE(is_preflight_due({killed(1)}, settings, true));
  EXPECT_TRUE(is_preflight_due({unreachable()}, settings, true)) << "a node does not answer";
  EXPECT_FALSE(is_preflight_due({ended(Cause::not_started, 1)}, settings, true))
      << "no controller, no pre-flight";
  settings.plan.preflight = PreflightWhen::always;
  EXPECT_TRUE(is_preflight_due({}, settings, true));
}

TEST(PolicyWaits, AJobGoesBackWithoutUnfitNodesButNotForEver) {
  const auto decision = decide_of_nodes("n2", "n2: clock: 95.0 s behind", 0, with(training, 3));
  ASSERT_TRUE(decision);
  EXPECT_EQ(decision->next, Next::requeue);
  EXPECT_TRUE(decision->ask_slurm);
  EXPECT_EQ(decision->exclude, "n2");
  EXPECT_EQ(decision->reason, "not fit: n2: clock: 95.0 s behind; requeueing without n2");
  EXPECT_FALSE(decide_of_nodes("n2", "", 3, with(training, 3)));
  EXPECT_FALSE(decide_of_nodes("n2", "", 0, with(training, 3, {.node_fail = false})));
  EXPECT_FALSE(decide_of_nodes("n2", "", 0, unprepared));
}

}  // namespace
}  // namespace dllaunch
