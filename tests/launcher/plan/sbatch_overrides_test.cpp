#include "launcher/plan/sbatch_overrides.hpp"

#include <gtest/gtest.h>

#include "tests/launcher/sample_plans.hpp"

namespace dllaunch {
namespace {

Resources asked(const Resources& own, const SbatchVariables& variables = {}) {
  auto job = run_job();
  job.resources = own;
  return apply_overrides(std::move(job), variables).resources;
}

TEST(SbatchOverrides, ExtrasAreAsGoodAsKeys) {
  const auto all = asked(
      {.sbatch_extra = {"-p bioq", "-A bio", "--qos=long", "-t 2:00:00", "--reservation=r", "-C ib",
                        "--exclude=n[1-2]", "--gres=gpu:v100:2", "--mail-type=END"}});
  EXPECT_EQ(all.partition, "bioq");
  EXPECT_EQ(all.account, "bio");
  EXPECT_EQ(all.qos, "long");
  EXPECT_EQ(all.time, "2:00:00");
  EXPECT_EQ(all.reservation, "r");
  EXPECT_EQ(all.constraint, "ib");
  EXPECT_EQ(all.exclude, "n[1-2]");
  EXPECT_EQ(all.gpus_per_node, 2);
}

TEST(SbatchOverrides, KeyBeforeExtraBeforeVariable) {
  const SbatchVariables variables = {{"SBATCH_PARTITION", "three"},
                                     {"SBATCH_ACCOUNT", "three"},
                                     {"SBATCH_QOS", "three"},
                                     {"SBATCH_TIMELIMIT", "30"},
                                     {"SBATCH_RESERVATION", ""}};
  const auto all =
      asked({.partition = "one", .sbatch_extra = {"-p two", "-A two", "-A last"}}, variables);
  EXPECT_EQ(all.partition, "one");
  EXPECT_EQ(all.account, "last") << "of two extras Slurm takes the last";
  EXPECT_EQ(all.qos, "three");
  EXPECT_EQ(all.time, "30");
  EXPECT_EQ(all.reservation, std::nullopt);
}

TEST(SbatchOverrides, WhatIsNotUnderstoodStaysWhereItIs) {
  const auto all = asked({.sbatch_extra = {"-p a -A b", "!-p", "--partition", "--nonsense=x",
                                           "--gres=gpu:a100:1,gpu:v100:1", "-t soon"}},
                         {{"SBATCH_TIMELIMIT", "later"}, {"SBATCH_NO_SUCH", "x"}});
  EXPECT_EQ(all.partition, std::nullopt);
  EXPECT_EQ(all.account, std::nullopt);
  EXPECT_EQ(all.time, std::nullopt);
  EXPECT_EQ(all.gpus_per_node, std::nullopt);
  EXPECT_EQ(asked({.device = "cpu", .sbatch_extra = {"--gres=gpu:1"}}).gpus_per_node, std::nullopt);
}

TEST(SbatchOverrides, TheTypeOfGpu) {
  EXPECT_EQ(gpu_type_in("--gres=gpu:v100:2"), "v100");
  EXPECT_EQ(gpu_type_in("--gres=gpu:v100"), "v100");
  EXPECT_EQ(gpu_type_in("--gpus-per-node=1g.5gb:7"), "1g.5gb");
  EXPECT_EQ(gpu_type_in("-G h100:8"), "h100");
  for (const char* none : {"--gres=gpu:2", "--gpus-per-node=4", "--gres=shard:2", "--gres=gpu",
                           "--gpus-per-node=a100:1,v100:1", "-p v100:2", ""})
    EXPECT_EQ(gpu_type_in(none), "") << none;
  EXPECT_EQ(wanted_gpu_type({"-p x", "--gres=gpu:v100:2"}), "v100");
}

}  // namespace
}  // namespace dllaunch
