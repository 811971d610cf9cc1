#include "launcher/slurm/srun_env_options.hpp"

#include <gmock/gmock.h>

namespace dllaunch {
namespace {

using testing::Contains;
using testing::Not;

TEST(SrunEnvOptions, WhatTheScriptAsksForStays) {
  const auto all = contradicting_variables({});
  for (const auto* name : {"SLURM_CPU_BIND", "SLURM_GPUS_PER_TASK", "SLURM_MEM_PER_CPU",
                           "SLURM_DISTRIBUTION", "SLURM_HINT", "SLURM_CPUS_PER_TASK"})
    EXPECT_THAT(all, Contains(name));
  const auto some = contradicting_variables(
      {"--mem-per-cpu=2G", "--hint nomultithread", "--cpus-per-task=4", "--gpus-per-task"});
  for (const auto* name : {"SLURM_MEM_PER_CPU", "SLURM_HINT", "SLURM_GPUS_PER_TASK"})
    EXPECT_THAT(some, Not(Contains(name)));
  EXPECT_THAT(some, Contains("SLURM_GPUS")) << "--gpus-per-task is another option";
  EXPECT_THAT(some, Contains("SLURM_CPUS_PER_TASK")) << "srun's line says it";
}

TEST(SrunEnvOptions, WhatEveryScriptSetsIsWanted) {
  const auto all = contradicting_variables({});
  for (const auto* name : {"SLURM_NTASKS", "SLURM_GPUS_PER_NODE", "SLURM_MEM_PER_NODE"})
    EXPECT_THAT(all, Not(Contains(name)));
  EXPECT_GT(srun_env_options().size(), all.size());
}

}  // namespace
}  // namespace dllaunch
