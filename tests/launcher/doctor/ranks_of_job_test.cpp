#include "launcher/doctor/ranks_of_job.hpp"

#include <gtest/gtest.h>

namespace dllaunch {
namespace {

JobProcess process(int pid, int parent, const std::string& name, const Environment& environment) {
  JobProcess process{.pid = pid, .parent = parent, .name = name};
  read_job(environment, process);
  return process;
}

Environment slurm(int rank, const std::string& step = "0") {
  return {{"SLURM_JOB_ID", "12"},
          {"SLURM_STEP_ID", step},
          {"SLURM_PROCID", std::to_string(rank)},
          {"SLURM_LOCALID", std::to_string(rank)},
          {"SLURM_STEP_NUM_TASKS", "4"},
          {"SLURM_STEP_TASKS_PER_NODE", "4"},
          {"SLURM_NODEID", "0"},
          {"SLURM_STEP_NUM_NODES", "1"}};
}

Environment openmpi(int rank, Environment base = {}) {
  base["OMPI_COMM_WORLD_RANK"] = std::to_string(rank);
  base["OMPI_COMM_WORLD_SIZE"] = "4";
  base["OMPI_COMM_WORLD_LOCAL_RANK"] = std::to_string(rank);
  base["OMPI_COMM_WORLD_LOCAL_SIZE"] = "4";
  base["PMIX_NAMESPACE"] = "77";
  return base;
}

std::string pids(const std::vector<JobProcess>& processes, const std::string& job, int wanted = 0) {
  std::string text;
  for (const auto& rank : ranks_of_job(processes, job, wanted)) {
    text +=
        (text.empty() ? "" : " ") + std::to_string(rank.rank.rank) + ":" + std::to_string(rank.pid);
    if (rank.workers > 0) text += "+" + std::to_string(rank.workers);
  }
  return text;
}

TEST(ReadJob, NamesTheInnermostLauncher) {
  EXPECT_EQ(process(1, 0, "app", slurm(0)).job, "step 12.0");
  EXPECT_EQ(process(1, 0, "app", slurm(0)).slurm_job, "12");
  EXPECT_EQ(process(1, 0, "app", openmpi(1, slurm(0))).job, "mpirun 77");
  EXPECT_EQ(process(1, 0, "app", {{"PATH", "/bin"}}).job, "");
  auto spawned = slurm(0);
  spawned.insert({{"DLLAUNCH_SPAWN", "9"},
                  {"RANK", "1"},
                  {"LOCAL_RANK", "1"},
                  {"WORLD_SIZE", "2"},
                  {"LOCAL_WORLD_SIZE", "2"}});
  EXPECT_EQ(process(1, 0, "app", spawned).job, "dllaunch spawn 9");
  auto below = spawned;
  below.insert({{"TORCHELASTIC_RUN_ID", "none"}, {"MASTER_ADDR", "n1"}, {"MASTER_PORT", "29500"}});
  EXPECT_EQ(process(1, 0, "app", below).job, "torchrun n1:29500 none");

  auto worker = slurm(0);
  worker["TORCHELASTIC_RUN_ID"] = "none";
  worker["MASTER_ADDR"] = "n1";
  worker["MASTER_PORT"] = "29500";
  worker["RANK"] = "3";
  worker["LOCAL_RANK"] = "3";
  worker["WORLD_SIZE"] = "4";
  worker["LOCAL_WORLD_SIZE"] = "4";
  const auto torch = process(1, 0, "python3", worker);
  EXPECT_EQ(torch.job, "torchrun n1:29500 none");
  EXPECT_EQ(torch.rank.rank, 3);
  EXPECT_EQ(torch.slurm_job, "12");
}

TEST(ReadJob, ABatchScriptAndAnInteractiveShellAreNoRanks) {
  EXPECT_EQ(process(1, 0, "bash", {{"SLURM_JOB_ID", "12"}, {"SLURM_PROCID", "0"}}).job, "");
  EXPECT_EQ(process(1, 0, "bash", slurm(0, "4294967290")).job, "");
  auto damaged = slurm(0);
  damaged["SLURM_PROCID"] = "first";
  EXPECT_EQ(process(1, 0, "bash", damaged).job, "");
}

TEST(RanksOfJob, LooksThroughWrappers) {
  const std::vector<JobProcess> processes = {
      process(10, 5, "bash", slurm(0)),     process(11, 10, "numactl", slurm(0)),
      process(12, 11, "python3", slurm(0)), process(13, 12, "python3", slurm(0)),
      process(14, 12, "python3", slurm(0)), process(20, 5, "app", slurm(1)),
      process(30, 5, "bash", slurm(2))};
  EXPECT_EQ(pids(processes, "step 12.0"), "0:12+2 1:20 2:30");
  EXPECT_EQ(pids(processes, "step 12.0", 10), "0:10+2 1:20 2:30") << "the one that was asked for";
  EXPECT_EQ(pids(processes, "step 12.1"), "");
}

TEST(RanksOfJob, LeavesDaemonsOut) {
  const std::vector<JobProcess> processes = {
      process(10, 5, "orted", slurm(0)), process(11, 10, "app", openmpi(0, slurm(0))),
      process(12, 10, "app", openmpi(1, slurm(0))), process(13, 1, "hydra_pmi_proxy", slurm(1)),
      process(14, 1, "sleep", {})};
  EXPECT_EQ(jobs_among(processes), (std::vector<std::string>{"mpirun 77"}));
  EXPECT_EQ(pids(processes, "mpirun 77"), "0:11 1:12");
}

TEST(RanksOfJob, SurvivesParentsThatCannotBe) {
  const std::vector<JobProcess> processes = {process(10, 11, "bash", slurm(0)),
                                             process(11, 10, "sh", slurm(0)),
                                             process(12, 12, "env", slurm(1))};
  EXPECT_EQ(ranks_of_job(processes, "step 12.0").size(), 2u);
}

}  // namespace
}  // namespace dllaunch
