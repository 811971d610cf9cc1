#include "launcher/launch/allocated.hpp"

#include <gmock/gmock.h>

#include "launcher/plan/plan.hpp"
#include "tests/launcher/sample_plans.hpp"
#include "tests/support/fake_system.hpp"

namespace dllaunch {
namespace {

using testing::Contains;
using testing::HasSubstr;
using testing::Not;

FakeSystem in_allocation(const std::string& nodes) {
  FakeSystem system;
  system.variables = {
      {"SLURM_JOB_ID", "74"}, {"SLURM_JOB_NODELIST", nodes}, {"SLURM_JOB_END_TIME", "1800000000"}};
  return system;
}

LaunchPlan plan_for(int nodes) {
  auto job = run_job();
  job.resources.nodes = nodes;
  return planned(job, small_cluster());
}

TEST(Allocated, TheNodesAreThoseOfTheJobAroundIt) {
  FakeSystem outside;
  EXPECT_THAT(allocation_here(outside, "").error().hint, HasSubstr("salloc"));
  auto system = in_allocation("n[1-4]");
  EXPECT_EQ(allocation_here(system, "")->nodes, "n[1-4]");
  EXPECT_EQ(allocation_here(system, "n2,n4")->nodes, "n[2,4]");
  EXPECT_THAT(allocation_here(system, "n[4-5]").error().what, HasSubstr("n5 is not in"));
  EXPECT_FALSE(allocation_here(system, "n["));
}

TEST(Allocated, RanksStartOnTheFirstNodesAndNothingRequeuesTheAllocation) {
  auto system = in_allocation("n[1-4]");
  auto allocation = *allocation_here(system, "");
  auto made = plan_for(2);
  ASSERT_TRUE(fit_into(allocation, made));
  EXPECT_EQ(allocation.nodes, "n[1-2]");
  EXPECT_THAT(made.start.options, Contains("--nodelist=n[1-2]"));
  EXPECT_FALSE(made.recovery.requeue_on.any());
  EXPECT_EQ(made.launcher, Launcher::local) << "this process's, not the queue's";
}

TEST(Allocated, SpareNodesAreThoseThatAreThere) {
  auto system = in_allocation("n[1-3]");
  auto allocation = *allocation_here(system, "");
  auto made = plan_for(2);
  made.recovery.spare_nodes = 2;
  ASSERT_TRUE(fit_into(allocation, made));
  EXPECT_EQ(made.recovery.spare_nodes, 1);
  EXPECT_EQ(allocation.nodes, "n[1-3]");
  EXPECT_THAT(made.start.options, Not(Contains(HasSubstr("--nodelist"))))
      << "the supervisor chooses";
}

TEST(Allocated, TooFewCpusAreRefusedBeforeSrunRefusesThem) {
  auto system = in_allocation("n[1-2]");
  system.variables["SLURM_JOB_CPUS_PER_NODE"] = "2,1";
  auto allocation = *allocation_here(system, "");
  EXPECT_EQ(allocation.cpus_per_node, 1);
  auto made = plan_for(2);
  EXPECT_THAT(fit_into(allocation, made).error().hint, HasSubstr("--exclusive"));
  allocation.cpus_per_node = 2;
  EXPECT_TRUE(fit_into(allocation, made));
}

TEST(Allocated, TooFewNodesAndArraysAreRefused) {
  auto system = in_allocation("n1");
  auto allocation = *allocation_here(system, "");
  auto made = plan_for(2);
  EXPECT_THAT(fit_into(allocation, made).error().what,
              HasSubstr("has 1 node (n1), and the job needs 2"));
  made.array = "0-3";
  EXPECT_EQ(fit_into(allocation, made).error().kind, ErrorKind::bad_request);
}

}  // namespace
}  // namespace dllaunch
