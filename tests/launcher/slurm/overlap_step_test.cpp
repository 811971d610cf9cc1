#include "launcher/slurm/overlap_step.hpp"

#include <gtest/gtest.h>

#include <algorithm>

namespace dllaunch {
namespace {

TEST(OverlapStep, TakesNothingFromTheRanksAndInheritsNoOption) {
  const auto argv = argv_of({.job = "17", .nodes = "n[2-3]", .count = 2, .light = true}, {"true"});
  std::string line;
  for (const auto& word : argv) line += word + " ";
  for (const char* inherited : {"env -u ", " -u SLURM_CPU_BIND ", " -u SLURM_TIMELIMIT "})
    EXPECT_NE(line.find(inherited), std::string::npos) << line;
  EXPECT_EQ(line.substr(line.find("srun ")),
            "srun --jobid=17 --overlap --nodelist=n[2-3] --nodes=2 --ntasks=2 --ntasks-per-node=1 "
            "--cpus-per-task=1 --gres=none --cpu-bind=none --mem-bind=none --mem=0 --mpi=none "
            "--input=none --kill-on-bad-exit=0 --quiet true ");
}

TEST(OverlapStep, HearsIfAsked) {
  const auto argv = argv_of({.hears = true}, {"true"});
  EXPECT_NE(std::find(argv.begin(), argv.end(), "--input=all"), argv.end());
}

}  // namespace
}  // namespace dllaunch
