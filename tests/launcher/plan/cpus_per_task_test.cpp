#include "launcher/plan/cpus_per_task.hpp"

#include <gtest/gtest.h>

namespace dllaunch {
namespace {

/// 56 cores for jobs, with two threads each.
NodeType lumi_node() {
  return {.cpus = 112, .cores_per_socket = 64, .threads_per_core = 2};
}

void expect(const Job& job, bool in_cores, const NodeType& type, const CpusPerTaskUnit& wanted) {
  const auto counting = cpus_per_task_unit(job, in_cores, type);
  EXPECT_EQ(counting.usable, wanted.usable);
  EXPECT_EQ(counting.core, wanted.core);
  EXPECT_EQ(counting.threads_per_core, wanted.threads_per_core);
}

TEST(CpusPerTaskUnit, SlurmCountsThreads) {
  expect({}, false, lumi_node(), {.usable = 112, .core = 2});
}

TEST(CpusPerTaskUnit, ASiteMayCountCores) {
  expect({}, true, lumi_node(), {.usable = 56, .core = 1, .threads_per_core = "1"});
  Job smt;
  smt.binding.smt = true;
  expect(smt, true, lumi_node(), {.usable = 112, .core = 2, .threads_per_core = "2"});
  expect({}, true, {.cpus = 80, .cores_per_socket = 40}, {.usable = 80, .core = 1});
}

TEST(CpusPerTaskUnit, TheJobsOwnOptionDecides) {
  const auto asked = [&](const char* option, bool in_cores, int usable, int core) {
    Job job;
    job.resources.sbatch_extra = {"--mail-type=END", option};
    expect(job, in_cores, lumi_node(), {.usable = usable, .core = core});
  };
  asked("--hint=nomultithread", false, 56, 1);
  asked("--threads-per-core=1", false, 56, 1);
  asked("--threads-per-core 1", false, 56, 1);
  asked("--hint=multithread", true, 112, 2);
  asked("--threads-per-core=2", true, 112, 2);
  asked("--threads-per-core=9", true, 112, 2);
}

TEST(CpusPerTaskUnit, WhatIsNoAnswerIsNone) {
  for (const char* option : {"--hint=compute_bound", "--threads-per-core=x", "--hint", "--hints=1",
                             "--threads-per-core=0"}) {
    Job job;
    job.resources.sbatch_extra = {option};
    expect(job, false, lumi_node(), {.usable = 112, .core = 2});
  }
}

}  // namespace
}  // namespace dllaunch
