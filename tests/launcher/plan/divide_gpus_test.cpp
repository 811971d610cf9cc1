#include "launcher/plan/divide_gpus.hpp"

#include <gtest/gtest.h>

#include "launcher/job/job_file.hpp"
#include "launcher/plan/plan.hpp"
#include "tests/launcher/sample_plans.hpp"

namespace dllaunch {
namespace {

Job job_with(const std::string& resources) {
  auto parsed = parse_job("name: a\nrun: x\nresources: {" + resources + "}\n", "job.yaml", {});
  EXPECT_TRUE(parsed.job) << render(parsed.problems, false);
  return parsed.job ? *std::move(parsed.job) : Job{};
}

/// "nodes x gpus_per_node", or why not.
std::string divided(const std::string& resources, const Facts& facts, bool local = false) {
  const auto job = divide_gpus(job_with(resources), facts, {}, local);
  if (!job) return job.error().what + " (" + job.error().hint + ")";
  EXPECT_FALSE(job->resources.gpus);
  return std::to_string(job->resources.nodes) + " x " +
         std::to_string(job->resources.gpus_per_node.value_or(-1));
}

TEST(DivideGpus, FillsNodesOrTakesAPartOfOne) {
  const auto facts = lumi_like();  // eight on each node
  EXPECT_EQ(divided("gpus: 8", facts), "1 x 8");
  EXPECT_EQ(divided("gpus: 32", facts), "4 x 8");
  EXPECT_EQ(divided("gpus: 3", facts), "1 x 3");
  EXPECT_EQ(divided("gpus: 3", one_machine("cores:4"), true), "1 x 3") << "plan() refuses it";
}

TEST(DivideGpus, RefusesWithTheChoices) {
  EXPECT_EQ(divided("gpus: 12", lumi_like()),
            "asked for 12 GPUs, which do not fill whole nodes of partition standard-g: they have 8 "
            "each (use resources.gpus: 8 or 16, or nodes: 2 and gpus_per_node: 6)");
  EXPECT_EQ(divided("gpus: 2", small_cluster()),
            "asked for 2 GPUs, but nodes of partition batch have none (name another "
            "resources.partition)");
}

TEST(DivideGpus, IsTheFullFormForThePlanAndTheRunDirectory) {
  const auto brief = divide_gpus(job_with("gpus: 16"), lumi_like(), {}, false);
  ASSERT_TRUE(brief) << brief.error().what;
  const Job full = job_with("nodes: 2, gpus_per_node: 8");
  EXPECT_EQ(brief->resolved, full.resolved);
  EXPECT_EQ(to_json(planned(*brief, lumi_like())), to_json(planned(full, lumi_like())));
}

}  // namespace
}  // namespace dllaunch
