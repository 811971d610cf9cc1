#include "launcher/plan/cpus_per_task.hpp"

#include <gtest/gtest.h>

#include "launcher/cluster/cluster_profile.hpp"

namespace dllaunch {
namespace {

/// 56 cores for jobs, with two threads each.
NodeType lumi_node() {
  return {.cpus = 112, .cores_per_socket = 64, .threads_per_core = 2};
}

void expect(const Job& job, const ClusterProfile* profile, const NodeType& type,
            const CpusPerTaskUnit& wanted) {
  const auto counting = cpus_per_task_unit(job, profile, type);
  EXPECT_EQ(counting.usable, wanted.usable);
  EXPECT_EQ(counting.core, wanted.core);
  EXPECT_EQ(counting.threads_per_core, wanted.threads_per_core);
}

TEST(CpusPerTaskUnit, SlurmCountsThreads) {
  expect({}, nullptr, lumi_node(), {.usable = 112, .core = 2});
  const ClusterProfile threads;
  expect({}, &threads, lumi_node(), {.usable = 112, .core = 2});
}

TEST(CpusPerTaskUnit, ASiteMayCountCores) {
  ClusterProfile cores;
  cores.cpus_are_cores = true;
  expect({}, &cores, lumi_node(), {.usable = 56, .core = 1, .threads_per_core = "1"});
  Job smt;
  smt.binding.smt = true;
  expect(smt, &cores, lumi_node(), {.usable = 112, .core = 2, .threads_per_core = "2"});
  expect({}, &cores, {.cpus = 80, .cores_per_socket = 40}, {.usable = 80, .core = 1});
}

TEST(CpusPerTaskUnit, TheJobsOwnOptionDecides) {
  ClusterProfile cores;
  cores.cpus_are_cores = true;
  const auto asked = [&](const char* option, const ClusterProfile* profile, int usable, int core) {
    Job job;
    job.resources.sbatch_extra = {"--mail-type=END", option};
    expect(job, profile, lumi_node(), {.usable = usable, .core = core});
  };
  asked("--hint=nomultithread", nullptr, 56, 1);
  asked("--threads-per-core=1", nullptr, 56, 1);
  asked("--threads-per-core 1", nullptr, 56, 1);
  asked("--hint=multithread", &cores, 112, 2);
  asked("--threads-per-core=2", &cores, 112, 2);
  asked("--threads-per-core=9", &cores, 112, 2);
}

TEST(CpusPerTaskUnit, WhatIsNoAnswerIsNone) {
  for (const char* option : {"--hint=compute_bound", "--threads-per-core=x", "--hint", "--hints=1",
                             "--threads-per-core=0"}) {
    Job job;
    job.resources.sbatch_extra = {option};
    expect(job, nullptr, lumi_node(), {.usable = 112, .core = 2});
  }
}

}  // namespace
}  // namespace dllaunch
