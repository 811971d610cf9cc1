#include <gmock/gmock.h>

#include "launcher/plan/plan.hpp"
#include "tests/launcher/sample_plans.hpp"

namespace dllaunch {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::Not;

TEST(PlanLocal, StartsThroughMpirunForOneRankToo) {
  const auto made = planned(train_job(), one_machine("cores:2"));
  EXPECT_TRUE(made.exact);
  EXPECT_TRUE(made.sbatch.empty());
  EXPECT_THAT(
      made.start.argv(),
      ElementsAre("mpirun", "--np", "1", "--bind-to", "none", "--", "/opt/dllaunch/bin/dllaunch",
                  "exec", "--run-dir", "/scratch/me/runs/job-20261120-200000-ab12", "--",
                  "/opt/dllaunch/bin/dltrain", "--config",
                  "/scratch/me/runs/job-20261120-200000-ab12/train.json"));
}

TEST(PlanLocal, MoreRanksThanCoresNeedOpenMpisConsent) {
  auto job = run_job();
  job.resources.ranks_per_node = 2;
  EXPECT_THAT(planned(job, one_machine("cores:2")).start.argv(), Not(Contains("--oversubscribe")));
  EXPECT_THAT(planned(job, one_machine("cores:1 threads:2")).start.argv(),
              Contains("--oversubscribe"))
      << "Open MPI counts cores, not hardware threads";
}

TEST(PlanLocal, ManyRanksShareOneLog) {
  auto job = run_job();
  job.resources.ranks_per_node = 300;
  const auto made = planned(job, one_machine("cores:2"));
  EXPECT_THAT(made.start.argv(), Contains("--no-log"));
  EXPECT_THAT(made.start.argv(), Contains("--tag-output"));
}

TEST(PlanLocal, WithoutMpirunDllaunchStartsTheRanksItself) {
  auto facts = one_machine("cores:2");
  facts.no_mpirun = true;
  auto job = run_job();
  job.resources.ranks_per_node = 300;
  EXPECT_THAT(planned(job, facts).start.argv(),
              ElementsAre("/opt/dllaunch/bin/dllaunch", "spawn", "--np", "300", "--",
                          "/opt/dllaunch/bin/dllaunch", "exec", "--run-dir",
                          "/scratch/me/runs/job-20261120-200000-ab12", "--", "python3", "train.py",
                          "--epochs", "3"));
}

TEST(PlanLocal, OneMachineIsOneNode) {
  auto job = run_job();
  job.resources.nodes = 2;
  EXPECT_EQ(problem_of(job, one_machine("cores:2")),
            "asked for 2 nodes, but there is no Slurm here: sinfo is not installed (use --set "
            "resources.nodes=1, or --set cluster=NAME to plan for a cluster)");
  auto not_asked = one_machine("cores:2");
  not_asked.why_no_slurm.clear();
  for (const auto& facts : {small_cluster(), not_asked})
    EXPECT_EQ(
        problem_of(job, facts, /*local=*/true),
        "asked for 2 nodes, but --local starts on this machine only (use --set resources.nodes=1)");
}

TEST(PlanLocal, AKeyForSlurmSaysHowToPlanForACluster) {
  auto job = run_job();
  EXPECT_THAT(planned(job, one_machine("cores:2")).warnings, testing::IsEmpty());
  job.resources.partition = "gpu";
  job.resources.account = "vision";
  EXPECT_THAT(planned(job, one_machine("cores:2")).warnings,
              ElementsAre("resources.partition has no effect on this machine; --set cluster=NAME "
                          "plans for a cluster"));
}

TEST(PlanLocal, ADeviceIsDrivenByItsMakersGpus) {
  auto facts = one_machine("cores:4 gpus:3");
  facts.topology->gpus[0].vendor = "nvidia";
  facts.topology->gpus[1].vendor = "amd";
  facts.topology->gpus[2].vendor = "nvidia";
  auto job = run_job();
  job.resources.device = "cuda";
  EXPECT_EQ(planned(job, facts).ranks(), 2);
  job.resources.device = "hip";
  EXPECT_EQ(planned(job, facts).ranks(), 1);
}

TEST(PlanLocal, SpareNodesAreNotLeftOutInSilence) {
  auto job = train_job();
  job.recovery.spare_nodes = 1;
  const auto made = planned(job, one_machine("cores:2"), true);
  EXPECT_EQ(made.recovery.spare_nodes, 0);
  EXPECT_THAT(made.warnings,
              testing::Contains(
                  "recovery.spare_nodes has no effect: the ranks start on this machine only"));
}

/// Without a supervisor a command that hangs runs on.
TEST(PlanLocal, NobodyEndsACommandThatStalls) {
  auto job = run_job();
  job.runtime["stall_abort_seconds"] = 60;
  job.stall_abort_written = true;
  EXPECT_THAT(planned(job, one_machine("cores:2")).warnings,
              ElementsAre(testing::StartsWith(
                  "runtime.stall_abort_seconds has no effect on this machine")));
}

}  // namespace
}  // namespace dllaunch
