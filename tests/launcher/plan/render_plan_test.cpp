#include <gtest/gtest.h>

#include "launcher/plan/plan.hpp"
#include "tests/launcher/sample_plans.hpp"
#include "tests/support/golden.hpp"

namespace dllaunch {
namespace {

TEST(RenderPlan, OneMachine) {
  auto job = train_job();
  job.resources.ranks_per_node = 2;
  EXPECT_TRUE(
      matches_golden("launcher/plan_local.txt", render_plan(planned(job, one_machine("cores:2")))));
}

TEST(RenderPlan, SaysWhyTheStarterIsToldToTakeMoreRanks) {
  auto job = run_job();
  job.resources.ranks_per_node = 3;
  EXPECT_NE(render_plan(planned(job, one_machine("cores:2")))
                .find("\n  --oversubscribe: mpirun refuses more ranks than cores without it\n"),
            std::string::npos);
  EXPECT_NE(render_plan(planned(job, small_cluster()))
                .find("\n  --overcommit: srun refuses more ranks than CPUs without it\n"),
            std::string::npos);
  job.resources.ranks_per_node = 1;
  EXPECT_EQ(render_plan(planned(job, small_cluster())).find("refuses more ranks"),
            std::string::npos);
}

TEST(RenderPlan, TwoNodesByCounts) {
  auto job = train_job();
  job.resources.nodes = 2;
  job.resources.ranks_per_node = 2;
  EXPECT_TRUE(matches_golden("launcher/plan_2x2.txt", render_plan(planned(job, small_cluster()))));
}

TEST(RenderPlan, SpareNodesAreSaidPlainly) {
  auto job = train_job();
  job.recovery.spare_nodes = 1;
  const auto text = render_plan(planned(job, small_cluster()));
  EXPECT_NE(text.find("1 rank on 1 node + 1 spare, 1 per node, through Slurm"), std::string::npos)
      << text;
}

TEST(RenderPlan, TwoGpuNodesOfKnownShape) {
  auto job = run_job();
  job.resources.nodes = 2;
  EXPECT_TRUE(matches_golden("launcher/plan_lumi.txt", render_plan(planned(job, lumi_like()))));
}

TEST(RenderPlan, ManyNodesThatAreAllAlike) {
  auto job = run_job();
  job.resources.nodes = 64;
  job.environment.variables = {{"NAME", "two words"}};
  job.binding.policy = BindPolicy::none;
  EXPECT_TRUE(matches_golden("launcher/plan_64_nodes.txt", render_plan(planned(job, lumi_like()))));
}

}  // namespace
}  // namespace dllaunch
