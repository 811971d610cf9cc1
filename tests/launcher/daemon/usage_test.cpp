#include "launcher/daemon/usage.hpp"

#include <gtest/gtest.h>

namespace dllaunch {
namespace {

TEST(Usage, IsOfAllGpusOfAllNodes) {
  RunOutline plan;
  EXPECT_DOUBLE_EQ(gpu_hours(plan, 4, 1800), 2) << "node hours";
  plan.sbatch = {{"--partition", "gpu"}, {"--gpus-per-node", "a100:8"}};
  EXPECT_DOUBLE_EQ(gpu_hours(plan, 4, 1800), 16);
  plan.sbatch = {{"--gpus-per-node", "2"}};
  EXPECT_DOUBLE_EQ(gpu_hours(plan, 4, 3600), 8);
  plan.sbatch = {{"--gpus-per-node", "a100:4,v100:2"}};
  EXPECT_DOUBLE_EQ(gpu_hours(plan, 4, 3600), 24);
  EXPECT_DOUBLE_EQ(gpu_hours(plan, 4, -5), 0);
  plan.sbatch = {{"--gpus-per-node", "2"}};
  EXPECT_DOUBLE_EQ(gpu_hours(plan, 3.5, 3600), 7) << "one was lost halfway";
}

TEST(Usage, WhatMakesNoSenseCountsAsANode) {
  RunOutline plan;
  for (const char* value : {"", ":", "a100", "-3", "999999999999999999999", ",,,", "a:b:"}) {
    plan.sbatch = {{"--gpus-per-node", value}};
    EXPECT_DOUBLE_EQ(gpu_hours(plan, 1, 3600), 1) << value;
  }
}

}  // namespace
}  // namespace dllaunch
