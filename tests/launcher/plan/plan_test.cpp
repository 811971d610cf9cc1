#include "launcher/plan/plan.hpp"

#include <gmock/gmock.h>

#include <ctime>

#include "support/json.hpp"
#include "tests/launcher/sample_plans.hpp"
#include "tests/support/emulator.hpp"

namespace dllaunch {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;
using testing::Pair;

TEST(Plan, UsesSlurmWhenTheFactsHaveItUnlessLocal) {
  EXPECT_EQ(planned(train_job(), small_cluster()).launcher, Launcher::slurm);
  auto facts = small_cluster();
  facts.topology = one_machine("cores:2").topology;
  EXPECT_EQ(planned(train_job(), facts, /*local=*/true).launcher, Launcher::local);
  EXPECT_EQ(planned(train_job(), one_machine("cores:2")).launcher, Launcher::local);
}

TEST(Plan, RanksExecTheTrainerOrTheUsersCommand) {
  EXPECT_THAT(planned(train_job(), small_cluster()).start.program,
              ElementsAre("/opt/dllaunch/bin/dltrain", "--config",
                          "/scratch/me/runs/job-20261120-200000-ab12/train.json"));
  EXPECT_THAT(planned(run_job(), small_cluster()).start.program,
              ElementsAre("python3", "train.py", "--epochs", "3"));
  EXPECT_EQ(planned(run_job(), small_cluster()).train_json, "");
  EXPECT_THAT(planned(train_job(), small_cluster()).train_json, HasSubstr("\"cnn\""));
  auto other_signal = train_job();
  other_signal.recovery.signal = "USR1";
  EXPECT_THAT(planned(other_signal, small_cluster()).train_json,
              HasSubstr("\"stop_signal\": \"USR1\""));
}

TEST(Plan, TheUsersVariablesTakeThePlaceOfOurs) {
  auto job = run_job();
  job.environment.variables = {{"A", "1"}, {"CUDA_DEVICE_ORDER", "FASTEST_FIRST"}};
  EXPECT_THAT(planned(job, small_cluster()).environment,
              ElementsAre(Pair("CUDA_DEVICE_ORDER", "FASTEST_FIRST"), Pair("A", "1")));
  job.environment = {};
  job.environment.left_alone = {"CUDA_DEVICE_ORDER", "NEVER_SET"};
  EXPECT_THAT(planned(job, small_cluster()).environment, ElementsAre());
}

TEST(Plan, WithoutABackendForGpusTrainsOnCpusAndSaysSo) {
  const auto facts = one_machine("numa:2 cores:4 gpus:2");
  const auto made = planned(train_job(), facts);
  EXPECT_EQ(made.ranks(), 2) << "one per NUMA node";
  EXPECT_TRUE(made.placement.ranks[0].gpus.empty());
  EXPECT_THAT(made.warnings, Contains(HasSubstr("stay idle")));
  auto job = train_job();
  job.resources.device = "cuda";
  EXPECT_THAT(problem_of(job, facts), HasSubstr("has no GPU backend"));
  job.resources.device = "auto";
  job.resources.gpus_per_node = 1;
  EXPECT_THAT(problem_of(job, facts), HasSubstr("has no GPU backend"));
  job.resources.device = "cpu";
  EXPECT_THAT(problem_of(job, facts), HasSubstr("but device is cpu"));
}

/// What a build with backend cuda plans.
Result<LaunchPlan> plan_with_cuda(const Job& job, const Facts& facts) {
  auto paths = sample_paths();
  paths.trainer_gpus = {"cuda"};
  return plan(job, facts, paths, false);
}

TEST(Plan, TrainsOneRankAGpuThatABackendDrives) {
  const auto facts = one_machine("numa:2 cores:4 gpus:4");
  const auto made = plan_with_cuda(train_job(), facts);
  ASSERT_TRUE(made) << made.error().what;
  EXPECT_EQ(made->ranks(), 4);
  EXPECT_EQ(made->placement.ranks[3].gpus.size(), 1U);
  EXPECT_THAT(made->warnings, Not(Contains(HasSubstr("idle"))));
  auto job = train_job();
  job.resources.device = "cuda";
  EXPECT_EQ(plan_with_cuda(job, facts)->ranks(), 4);
  job.resources.device = "cpu";
  EXPECT_TRUE(plan_with_cuda(job, facts)->placement.ranks[0].gpus.empty());
  job.resources.device = "auto";
  job.resources.ranks_per_node = 1;
  EXPECT_THAT(plan_with_cuda(job, facts)->warnings, Contains(HasSubstr("others stay idle")));
  EXPECT_EQ(plan_with_cuda(train_job(), one_machine("numa:2 cores:4"))->ranks(), 2);
}

TEST(Plan, TrainsOnNoGpuOfAnotherVendorAndSaysSo) {
  auto facts = one_machine("numa:2 cores:4 gpus:4");
  for (Gpu& gpu : facts.topology->gpus) gpu.vendor = "amd";
  const auto made = plan_with_cuda(train_job(), facts);
  ASSERT_TRUE(made) << made.error().what;
  EXPECT_TRUE(made->placement.ranks[0].gpus.empty());
  EXPECT_THAT(made->warnings, Contains(HasSubstr("only for cuda")));
  auto job = train_job();
  job.resources.device = "hip";
  const auto refused = plan_with_cuda(job, facts);
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().what, HasSubstr("device hip, but the trainer of this build has no"));
}

TEST(Plan, AnyCommandHasAllGpusUnlessItAsksForFewer) {
  const auto facts = one_machine("numa:2 cores:4 gpus:4");
  EXPECT_EQ(planned(run_job(), facts).ranks(), 4);
  auto job = run_job();
  job.resources.gpus_per_node = 2;
  EXPECT_EQ(planned(job, facts).ranks(), 2);
  job.resources.gpus_per_node = 8;
  EXPECT_EQ(problem_of(job, facts),
            "asked for 8 GPUs per node, this machine has 4 (use --set resources.gpus_per_node=4)");
  job.resources.gpus_per_node = std::nullopt;
  job.resources.ranks_per_node = 1;
  EXPECT_EQ(planned(job, facts).placement.ranks[0].gpus.size(), 4U);
  job.resources.device = "cpu";
  EXPECT_TRUE(planned(job, facts).placement.ranks[0].gpus.empty());
  job.resources.device = "cuda";
  EXPECT_THAT(problem_of(job, one_machine("cores:4")), HasSubstr("has no such GPU"));
}

TEST(Plan, MoreRanksThanCpusIsAWarning) {
  auto job = train_job();
  job.resources.ranks_per_node = 4;
  EXPECT_THAT(planned(job, one_machine("cores:2")).warnings,
              Contains(HasSubstr("4 ranks on 2 CPUs")));
}

TEST(Plan, ExplicitMasksCountTheRanks) {
  auto job = run_job();
  job.binding.policy = BindPolicy::explicit_masks;
  job.binding.masks = {IdSet{0}, IdSet{1}, IdSet{2}};
  EXPECT_EQ(planned(job, one_machine("cores:4")).ranks(), 3);
}

TEST(Plan, RefusesTextsThatNoScriptCanCarry) {
  const auto facts = small_cluster();
  auto job = run_job();
  job.environment.variables = {{"A B", "1"}};
  EXPECT_THAT(problem_of(job, facts), HasSubstr("'A B' is not a valid variable name"));
  job.environment.variables = {{"SLURM_CPUS_PER_TASK", "1"}};
  EXPECT_THAT(problem_of(job, facts), HasSubstr("contradicts srun's option"));
  job.environment.variables = {{"UID", "1"}};
  EXPECT_THAT(problem_of(job, facts), HasSubstr("belongs to bash"));
  job.environment.variables = {{"A", std::string("x\0y", 3)}};
  EXPECT_THAT(problem_of(job, facts), HasSubstr("NUL"));
  job.environment.variables = {};
  job.resources.account = "a\n#SBATCH --uid=root";
  EXPECT_THAT(problem_of(job, facts), HasSubstr("--account holds a line break"));
  job.resources.account = std::nullopt;
  job.resources.sbatch_extra = {"--comment=\n"};
  EXPECT_THAT(problem_of(job, facts), HasSubstr("sbatch_extra holds a line break"));
  job.resources.sbatch_extra = {};
  job.recovery.signal = "USR2; id";
  EXPECT_THAT(problem_of(job, facts), HasSubstr("is not a signal name"));
}

/// 4,608 nodes x 6 GPUs take less than 100 ms. Nothing may be expanded per node.
TEST(Plan, TwentySevenThousandRanksTakeNoTime) {
  if (under_an_emulator()) GTEST_SKIP() << "an emulator is slow";
  auto facts = lumi_like();
  auto& type = facts.slurm->partitions[0].node_types[0];
  type.hosts.clear();
  for (int n = 0; n < 4608; ++n) type.hosts.push_back("node" + std::to_string(n));
  type.cpus = 176;
  type.sockets = 2;
  type.cores_per_socket = 22;
  type.threads_per_core = 4;
  type.gpus = 6;
  facts.topology = std::nullopt;
  const auto document = to_json(facts).dump();
  auto job = run_job();
  job.resources.nodes = 4608;

  const auto start = std::clock();
  const auto read = facts_from_json(Json::parse(document));
  ASSERT_TRUE(read);
  const auto made = planned(job, *read);
  const auto text = render_plan(made) + to_json(made).dump() + render_sbatch(made);
  const double seconds = static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC;

  EXPECT_EQ(made.ranks(), 27648);
  EXPECT_LT(text.size(), 40000U);
  RecordProperty("seconds", std::to_string(seconds));
  EXPECT_LT(seconds, 0.1);
}

}  // namespace
}  // namespace dllaunch
