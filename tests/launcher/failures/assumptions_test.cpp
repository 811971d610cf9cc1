#include "launcher/failures/assumptions.hpp"

#include <gtest/gtest.h>

namespace dllaunch {
namespace {

TEST(Assumptions, AreKeysWithTimes) {
  const auto assumed =
      parse_assumptions({"queue=2h", "save=0s", "work=14d", "queue=30m", "interval=10min",
                         "detect=5s", "node_down=6m", "restart=1.5m"});
  ASSERT_TRUE(assumed) << assumed.error().what;
  EXPECT_EQ(assumed->costs.queue_s, 1800) << "the last of a key";
  EXPECT_EQ(assumed->costs.save_s, 0);
  EXPECT_EQ(assumed->costs.detect_s, 5);
  EXPECT_EQ(assumed->costs.node_down_s, 360);
  EXPECT_EQ(assumed->costs.restart_s, 90);
  EXPECT_EQ(assumed->work_s, 14 * 86400);
  EXPECT_EQ(assumed->interval_s, 600);
}

TEST(Assumptions, MistakesAreNamed) {
  EXPECT_EQ(parse_assumptions({"cue=1h"}).error().what, "--assume does not know cue=1h");
  EXPECT_EQ(parse_assumptions({"queue"}).error().what, "--assume does not know queue");
  EXPECT_EQ(parse_assumptions({"queue=1"}).error().what, "--assume queue=1 is not a time");
  EXPECT_EQ(parse_assumptions({"work=0s"}).error().what, "--assume work=0s is not a time");
  EXPECT_EQ(assumption_keys(), "work|interval|save|detect|node_down|restart|queue");
}

TEST(Assumptions, RulesAreThePlans) {
  RunOutline plan;
  plan.nodes = 8;
  plan.sbatch = {{"--nodes", "9"}, {"--time", "1-00:00:00"}};
  plan.grace_seconds = 90;
  plan.recovery = {.max_restarts = 5,
                   .requeue_on = {.timeout = true, .preempted = true, .node_fail = false},
                   .spare_nodes = 1,
                   .min_nodes = 6};
  const auto rules = rules_of(plan, true, R"({"checkpoint": {"every_minutes": 20}})", {});
  EXPECT_EQ(rules.nodes, 8);
  EXPECT_EQ(rules.spare_nodes, 1);
  EXPECT_EQ(rules.min_nodes, 6);
  EXPECT_EQ(rules.max_restarts, 5);
  EXPECT_TRUE(rules.requeue_timeout);
  EXPECT_FALSE(rules.requeue_node_fail);
  EXPECT_TRUE(rules.trains);
  EXPECT_EQ(rules.limit_s, 86400);
  EXPECT_EQ(rules.grace_s, 90);
  EXPECT_EQ(rules.interval_s, 1200);
  for (const char* text : {R"({"checkpoint": {"every_minutes": "auto"}})", "{}", "", "no JSON"})
    EXPECT_EQ(rules_of(plan, true, text, {}).interval_s, 0) << text;
  EXPECT_EQ(rules_of(plan, false, "", {.interval_s = 7}).interval_s, 7);
  plan.sbatch = {{"--time", "UNLIMITED"}};
  EXPECT_FALSE(time_limit_s(plan));
}

}  // namespace
}  // namespace dllaunch
