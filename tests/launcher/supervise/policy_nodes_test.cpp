// A node that is lost where the allocation has others to spare.
#include <gtest/gtest.h>

#include "tests/launcher/supervise/attempts.hpp"

namespace dllaunch {
namespace {

constexpr RequeueOn nothing{.timeout = false, .preempted = false, .node_fail = false};

Attempt lost(bool enough_nodes) {
  auto attempt = ended(Cause::lost_node, 137);
  attempt.detail = "n2";
  attempt.enough_nodes = enough_nodes;
  return attempt;
}

TEST(PolicyNodes, WithEnoughLeftTheRanksGoOnHere) {
  const auto decision = decide({lost(true)}, training, {});
  EXPECT_EQ(decision.next, Next::restart);
  EXPECT_EQ(decision.reason, "lost node n2; restart 1 of 3");
  EXPECT_EQ(decision.status, RunStatus::node_fail);
  EXPECT_EQ(decide({lost(true)}, with(training, 3, nothing), {}).next, Next::restart)
      << "no requeue is needed";
  EXPECT_EQ(decide({killed(1), lost(true)}, command, {}).reason, "lost node n2; restart 2 of 3");
}

/// What ended the ranks is not on the nodes that are left: they go on at once.
TEST(PolicyNodes, NothingIsWaitedForOrCheckedBeforeTheRanksGoOn) {
  using namespace std::chrono_literals;
  EXPECT_EQ(decide({saved(lost(true))}, training, {}).backoff, 0s);
  EXPECT_EQ(decide({lost(true)}, training, {}).backoff, 0s);
  EXPECT_EQ(decide({lost(true), lost(true)}, training, {}).backoff, 2s);
  EXPECT_EQ(decide({killed(1)}, training, {}).backoff, 1s);
  auto settings = training;
  settings.plan.preflight = PreflightWhen::restarts;
  settings.plan.min_nodes = 2;
  EXPECT_FALSE(is_preflight_due({lost(true)}, settings, /*same_allocation=*/true));
  EXPECT_TRUE(is_preflight_due({lost(true)}, settings, /*same_allocation=*/false));
  EXPECT_TRUE(is_preflight_due({lost(false)}, settings, /*same_allocation=*/true));
  settings.plan.spare_nodes = 1;
  EXPECT_TRUE(is_preflight_due({lost(true)}, settings, /*same_allocation=*/true))
      << "a spare node had no ranks yet";
}

TEST(PolicyNodes, WithoutTheJobGoesBack) {
  const auto decision = decide({lost(false)}, training, {});
  EXPECT_EQ(decision.next, Next::requeue);
  EXPECT_TRUE(decision.ask_slurm);
  EXPECT_EQ(decide({lost(false)}, with(training, 3, nothing), {}).next, Next::stop);
}

/// The fault is Slurm's, not theirs: with no restart left it is as without spare nodes.
TEST(PolicyNodes, WithNoRestartLeftTheJobGoesBackToo) {
  const std::vector<Attempt> history = {saved(killed(0)), saved(killed(1)), lost(true)};
  EXPECT_EQ(decide(history, with(training, 2), {}).next, Next::requeue);
  EXPECT_EQ(decide(history, with(training, 2, nothing), {}).next, Next::stop);
  EXPECT_EQ(decide(history, with(training, 3), {}).next, Next::restart);
}

/// Whether or not the time limit alone would be a reason to requeue.
TEST(PolicyNodes, TooNearTheTimeLimitForARestartTheJobGoesBackToo) {
  for (const bool timeout : {true, false}) {
    auto settings = training;
    settings.plan.requeue_on.timeout = timeout;
    const auto decision = decide({lost(true)}, settings, 60);
    EXPECT_EQ(decision.next, Next::requeue);
    EXPECT_EQ(decision.reason, "lost node n2; requeueing");
  }
}

TEST(PolicyNodes, ThreeLossesWithoutACheckpointAreEnough) {
  EXPECT_EQ(decide({lost(true), lost(true), lost(true)}, training, {}).next, Next::stop);
}

}  // namespace
}  // namespace dllaunch
