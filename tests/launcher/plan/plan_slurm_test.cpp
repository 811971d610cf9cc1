#include <gmock/gmock.h>

#include <algorithm>
#include <utility>

#include "launcher/plan/plan.hpp"
#include "tests/launcher/sample_plans.hpp"

namespace dllaunch {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::Pair;
using testing::StartsWith;

/// The value of an sbatch option; "absent" where it is not there.
std::string option(const LaunchPlan& made, const std::string& name) {
  for (const auto& [key, value] : made.sbatch)
    if (key == name) return value;
  return "absent";
}

Job two_by_two() {
  auto job = train_job();
  job.resources.nodes = 2;
  job.resources.ranks_per_node = 2;
  return job;
}

TEST(PlanSlurm, WithCountsAloneTheShimBinds) {
  const auto made = planned(two_by_two(), small_cluster());
  EXPECT_FALSE(made.exact);
  EXPECT_THAT(
      made.start.argv(),
      ElementsAre("srun", "--mpi=pmix", "--nodes=2", "--ntasks=4", "--ntasks-per-node=2",
                  "--cpus-per-task=1", "--cpu-bind=none", "--kill-on-bad-exit=1", "--wait=0",
                  "--export=ALL", "/opt/dllaunch/bin/dllaunch", "exec", "--run-dir",
                  "/scratch/me/runs/job-20261120-200000-ab12", "--", "/opt/dllaunch/bin/dltrain",
                  "--config", "/scratch/me/runs/job-20261120-200000-ab12/train.json"));
}

/// One that has saved and leaves must not end others that still save.
TEST(PlanSlurm, SrunEndsNoRanksOfACommandThatSaves) {
  auto job = two_by_two();
  job.train = Json();
  job.run_command = {"hostname"};
  const auto has = [&](const char* option) {
    const auto made = planned(job, small_cluster());
    return std::ranges::count(made.start.options, option);
  };
  EXPECT_EQ(has("--kill-on-bad-exit=1"), 1);
  job.recovery.written = true;
  EXPECT_EQ(has("--kill-on-bad-exit=0"), 1);
}

TEST(PlanSlurm, SpareNodesAreTheJobsAndNotTheRanks) {
  auto job = two_by_two();
  auto facts = lumi_like();
  facts.slurm->mpi_types = {"none", "pmix"};
  EXPECT_EQ(option(planned(job, facts), "--no-kill"), "absent");
  job.recovery.spare_nodes = 2;
  const auto made = planned(job, facts);
  EXPECT_EQ(option(made, "--nodes"), "4");
  EXPECT_EQ(option(made, "--no-kill"), "");
  EXPECT_THAT(made.start.argv(), Contains("--nodes=2"));
  EXPECT_THAT(made.start.argv(), Contains("--ntasks=4"));
  EXPECT_EQ(made.ranks(), 4);
  EXPECT_THAT(made.warnings, Not(Contains(HasSubstr("spare"))));
  job.resources.nodes = 1;
  EXPECT_THAT(planned(job, facts).warnings,
              Contains(HasSubstr("runs on the only node of its ranks")));
}

TEST(PlanSlurm, ElasticJobsTakeFewerNodesAndKeepTheGlobalBatch) {
  auto job = two_by_two();
  auto facts = lumi_like();
  facts.slurm->mpi_types = {"none", "pmix"};
  job.train["batch_size"] = 8;
  EXPECT_EQ(Json::parse(planned(job, facts).train_json).value("global_batch", Json()), Json());
  job.recovery.min_nodes = 1;
  const auto made = planned(job, facts);
  EXPECT_EQ(option(made, "--nodes"), "1-2");
  EXPECT_THAT(render_plan(made), HasSubstr("on 2 nodes, at least 1, 2 per node"));
  EXPECT_EQ(option(made, "--ntasks-per-node"), "absent");
  EXPECT_EQ(option(made, "--mincpus"), "112");
  EXPECT_EQ(option(made, "--no-kill"), "");
  EXPECT_THAT(made.start.argv(), Contains("--nodes=2"));
  EXPECT_EQ(Json::parse(made.train_json)["global_batch"], 32);
  job.train["global_batch"] = 24;
  EXPECT_EQ(Json::parse(planned(job, facts).train_json)["global_batch"], 24) << "as it was set";
}

TEST(PlanSlurm, MemoryIsAskedForInSlurmsTerms) {
  auto job = two_by_two();
  const auto ask = [&job](MemoryPer per, const char* amount) {
    job.resources.memory = JobMemory{.per = per, .amount = amount};
  };
  ask(MemoryPer::node, "64G");
  EXPECT_EQ(option(planned(job, lumi_like()), "--mem"), "64G");
  ask(MemoryPer::rank, "4G");
  EXPECT_EQ(option(planned(job, lumi_like()), "--mem"), "8G");
  ask(MemoryPer::gpu, "4G");
  EXPECT_EQ(problem_of(job, small_cluster()),
            "resources.memory.per_gpu: the job asks for no GPU (use resources.memory.per_rank or "
            "per_node, or ask for GPUs)");
  job.train = nullptr;
  job.run_command = {"./app"};
  const auto made = planned(job, lumi_like());
  EXPECT_EQ(option(made, "--mem-per-gpu"), "4G");
  EXPECT_EQ(option(made, "--mem"), "absent");
}

TEST(PlanSlurm, MoreMemoryThanNodesHaveIsAnError) {
  auto job = two_by_two();
  job.resources.memory = JobMemory{.per = MemoryPer::node, .amount = "481G"};
  EXPECT_EQ(problem_of(job, lumi_like()),
            "asked for 481G of memory on each node, nodes of partition standard-g have 480 GiB "
            "(use --set resources.memory.per_node=480GB, or name another resources.partition)");
  job.resources.ranks_per_node.reset();  // as many as the node has NUMA nodes or GPUs
  job.resources.memory = JobMemory{.per = MemoryPer::rank, .amount = "400G"};
  EXPECT_THAT(problem_of(job, lumi_like()), HasSubstr("400G of memory for each of "));
}

TEST(PlanSlurm, SpareNodesMustBeThere) {
  auto job = two_by_two();
  job.recovery.spare_nodes = 1;
  EXPECT_EQ(problem_of(job, small_cluster()),
            "asked for 3 nodes, partition batch has 2; 1 of them spare ones (use --set "
            "recovery.spare_nodes=0, or fewer resources.nodes)");
}

TEST(PlanSlurm, MpirunHasNoUseForSpareNodes) {
  auto job = two_by_two();
  job.resources.nodes = 1;
  job.recovery.spare_nodes = 1;
  job.runtime = {{"transport", "mpi"}};
  auto facts = small_cluster();
  facts.slurm->mpi_types = {"none", "pmi2"};
  const auto made = planned(job, facts);
  EXPECT_EQ(made.start.kind(), Starter::mpirun);
  EXPECT_EQ(option(made, "--nodes"), "1");
  EXPECT_EQ(option(made, "--no-kill"), "absent");
  EXPECT_EQ(made.recovery.spare_nodes, 0);
  EXPECT_THAT(made.warnings, Contains(HasSubstr("recovery.spare_nodes has no effect: mpirun")));
}

TEST(PlanSlurm, AsksSbatchForWhatTheStepNeeds) {
  auto job = two_by_two();
  job.resources.time = "00:30:00";
  job.resources.account = "project_1";
  const auto made = planned(job, small_cluster());
  EXPECT_EQ(option(made, "--nodes"), "2");
  EXPECT_EQ(option(made, "--ntasks-per-node"), "2");
  EXPECT_EQ(option(made, "--cpus-per-task"), "1");
  EXPECT_EQ(option(made, "--gpus-per-node"), "absent");
  EXPECT_EQ(option(made, "--partition"), "absent");
  EXPECT_EQ(option(made, "--time"), "00:30:00");
  EXPECT_EQ(option(made, "--account"), "project_1");
  EXPECT_EQ(option(made, "--exclusive"), "");
  EXPECT_EQ(option(made, "--signal"), "B:USR2@120");
  EXPECT_EQ(option(made, "--output"), "/scratch/me/runs/job-20261120-200000-ab12/slurm-%j.out");
}

TEST(PlanSlurm, OnWholeNodesOfKnownShapeSrunBinds) {
  auto job = run_job();
  job.resources.nodes = 2;
  const auto made = planned(job, lumi_like());
  EXPECT_TRUE(made.exact);
  EXPECT_EQ(made.ranks(), 16);
  // The masks of LUMI's user guide.
  EXPECT_THAT(made.start.argv(),
              Contains("--cpu-bind=mask_cpu:0xfe000000000000,0xfe00000000000000,0xfe0000,"
                       "0xfe000000,0xfe,0xfe00,0xfe00000000,0xfe0000000000"));
  EXPECT_THAT(made.start.argv(), Contains("--cpus-per-task=14")) << "hardware threads";
  EXPECT_THAT(made.start.argv(), Contains("--mpi=cray_shasta")) << "the site's own";
  EXPECT_EQ(option(made, "--gpus-per-node"), "8");
}

TEST(PlanSlurm, MasksThatMayNotFitAreLeftToTheShim) {
  const auto shim_binds = Contains("--cpu-bind=none");
  auto job = run_job();
  job.resources.exclusive = false;
  EXPECT_THAT(planned(job, lumi_like()).start.argv(), shim_binds) << "a shared node";
  EXPECT_FALSE(planned(job, lumi_like()).exact) << "the shim looks which part it got";
  job.resources.exclusive = true;
  job.resources.ranks_per_node = 3;
  EXPECT_THAT(planned(job, lumi_like()).start.argv(), shim_binds) << "112 CPUs do not divide by 3";
  job.resources.ranks_per_node = std::nullopt;
  auto facts = lumi_like();
  facts.topology->allowed_cpus = IdSet::range(0, 127);
  facts.topology->cores.push_back({.cpus = {0, 64}});
  EXPECT_THAT(planned(job, facts).start.argv(), shim_binds) << "a core that Slurm keeps to itself";
  facts = lumi_like();
  facts.slurm->partitions[0].node_types[0].gpus = 4;
  const auto other = planned(job, facts);
  EXPECT_THAT(other.start.argv(), shim_binds) << "the topology is of another node";
  EXPECT_THAT(other.warnings, Contains(HasSubstr("another kind of node")));
}

TEST(PlanSlurm, WhereNodesMayDifferInsideTheShimBinds) {
  auto facts = lumi_like();
  auto& types = facts.slurm->partitions[0].node_types;
  types.push_back(types[0]);
  types[1].hosts = {"nid006000"};
  types[1].features = {"other"};
  facts.probed = {{.type = types[0],
                   .cluster = "lumi",
                   .host = "nid005000",
                   .topology = *std::exchange(facts.topology, std::nullopt)}};
  const auto made = planned(run_job(), facts);
  EXPECT_FALSE(made.exact);
  EXPECT_THAT(made.start.argv(), Contains("--cpu-bind=none"));
  EXPECT_THAT(made.warnings, Contains(HasSubstr("may be wired in several ways")));
  facts.probed.push_back(facts.probed[0]);
  facts.probed[1].type = types[1];
  EXPECT_THAT(planned(run_job(), facts).start.argv(),
              Contains(StartsWith("--cpu-bind=mask_cpu:0xfe")));
  EXPECT_TRUE(planned(run_job(), facts).exact);
}

TEST(PlanSlurm, NoOptionBindsGpus) {
  for (const auto& word : planned(run_job(), lumi_like()).start.argv()) {
    EXPECT_THAT(word, Not(StartsWith("--gpu-bind")));
    EXPECT_THAT(word, Not(StartsWith("--gpus-per-task")));
  }
}

TEST(PlanSlurm, OnSharedNodesTakesCpusInProportion) {
  auto job = run_job();
  job.resources.exclusive = false;
  job.resources.gpus_per_node = 2;
  EXPECT_THAT(planned(job, lumi_like()).start.argv(), Contains("--cpus-per-task=14"));
  job.resources.cpus_per_rank = 3;
  EXPECT_THAT(planned(job, lumi_like()).start.argv(), Contains("--cpus-per-task=6")) << "3 cores";
  EXPECT_EQ(option(planned(job, lumi_like()), "--exclusive"), "absent");
}

TEST(PlanSlurm, MoreRanksThanCpusNeedSlurmsConsent) {
  auto job = two_by_two();
  job.resources.ranks_per_node = 3;
  const auto made = planned(job, small_cluster());
  EXPECT_THAT(made.start.argv(), Contains("--overcommit"));
  EXPECT_THAT(made.start.argv(), Contains("--ntasks-per-node=3"));
  EXPECT_EQ(option(made, "--ntasks-per-node"), "2") << "sbatch refuses more tasks than CPUs";
  EXPECT_THAT(made.warnings, Contains(HasSubstr("3 ranks on 2 CPUs")));
}

TEST(PlanSlurm, WithoutPmixMpirunStartsWhatNeedsMpi) {
  auto facts = small_cluster();
  facts.slurm->mpi_types = {"none", "pmi2"};
  auto needs_mpi = two_by_two();
  needs_mpi.runtime = {{"transport", "mpi"}};
  const auto made = planned(needs_mpi, facts);
  EXPECT_EQ(made.start.kind(), Starter::mpirun);
  EXPECT_THAT(made.start.options,
              ElementsAre("--np", "4", "--map-by", "ppr:2:node", "--bind-to", "none", "-x",
                          "CUDA_DEVICE_ORDER", "-x", "DLLAUNCH_TRANSPORT", "-x",
                          "DLLAUNCH_GENERATION", "--"));
  auto job = two_by_two();
  job.resources.nodes = 1;
  job.resources.ranks_per_node = 1;
  EXPECT_THAT(planned(job, facts).start.argv(), Contains("--mpi=none"))
      << "one rank needs no peers";
  EXPECT_THAT(planned(run_job(), facts).start.argv(), Contains("--mpi=pmi2"));
  facts.slurm->mpi_types = {"none"};
  for (const char* framework : {"mpi", "horovod", "pytorch"}) {
    auto command = run_job();
    command.framework = framework;
    command.resources.nodes = 2;
    const bool meets_over_mpi = command.framework != "pytorch";
    EXPECT_EQ(planned(command, facts).start.starter, meets_over_mpi ? "mpirun" : "srun")
        << framework;
  }
  facts.slurm->mpi_types = {"none", "pmix_v3", "pmix_v4"};
  EXPECT_THAT(planned(two_by_two(), facts).start.argv(), Contains("--mpi=pmix_v4"));
}

TEST(PlanSlurm, ManyRanksWriteOneLogANode) {
  auto job = run_job();
  job.resources.nodes = 33;
  const auto made = planned(job, lumi_like());
  EXPECT_THAT(made.start.argv(), Contains("--label"));
  EXPECT_THAT(made.start.argv(),
              Contains("--output=/scratch/me/runs/job-20261120-200000-ab12/out/%N.log"));
  EXPECT_THAT(made.start.argv(), Contains("--no-log"));
}

TEST(PlanSlurm, ExtraOptionsTakeThePlaceOfOurs) {
  auto job = two_by_two();
  job.resources.srun_extra = {"--mpi=pmi2", "--mem=0", "!--wait"};
  job.resources.sbatch_extra = {"--open-mode=truncate", "!--requeue", "--mail-type END"};
  const auto made = planned(job, small_cluster());
  EXPECT_THAT(made.start.argv(), Not(Contains("--mpi=pmix")));
  EXPECT_THAT(made.start.argv(), Not(Contains(StartsWith("--wait"))));
  const auto& options = made.start.options;
  const auto theirs = std::find(options.begin(), options.end(), "--mpi=pmi2");
  EXPECT_EQ(options.end() - theirs, 2) << "behind all of ours";
  EXPECT_EQ(option(made, "--open-mode"), "truncate");
  EXPECT_EQ(option(made, "--requeue"), "absent");
  EXPECT_THAT(made.sbatch_extra, ElementsAre("--mail-type=END"));
}

TEST(PlanSlurm, WholeNodesHaveAllTheirMemory) {
  auto job = two_by_two();
  EXPECT_EQ(option(planned(job, small_cluster()), "--mem"), "0");
  job.resources.exclusive = false;
  EXPECT_EQ(option(planned(job, small_cluster()), "--mem"), "absent");
}

TEST(PlanSlurm, AnArraysTasksHaveTheirOwnDirectories) {
  auto job = run_job();
  job.array = "0-9%2";
  const auto made = planned(job, small_cluster());
  EXPECT_EQ(option(made, "--array"), "0-9%2");
  EXPECT_EQ(option(made, "--output"), "/scratch/me/runs/job-20261120-200000-ab12/slurm-%A_%a.out");
  EXPECT_THAT(made.start.argv(), Contains("/scratch/me/runs/job-20261120-200000-ab12/task-%a"));
  EXPECT_THAT(problem_of(job, one_machine("cores:2")), HasSubstr("array needs Slurm"));
}

TEST(PlanSlurm, WaitsForOtherJobs) {
  auto job = run_job();
  job.after = {"17", "18_2"};
  auto made = planned(job, small_cluster());
  EXPECT_EQ(option(made, "--dependency"), "afterok:17:18_2");
  EXPECT_EQ(option(made, "--kill-on-invalid-dep"), "yes");
  EXPECT_THAT(made.warnings, Not(Contains(HasSubstr("after:"))));
  job.after = {"runs/prepare"};
  made = planned(job, small_cluster());
  EXPECT_EQ(option(made, "--dependency"), "absent");
  EXPECT_THAT(made.warnings, Contains(HasSubstr("after: the job of 'runs/prepare'")));
}

TEST(PlanSlurm, PathsInOutputAreNotPatterns) {
  auto paths = sample_paths();
  paths.run_dir = "/scratch/100%j";
  const auto made = plan(two_by_two(), small_cluster(), paths, false);
  ASSERT_TRUE(made);
  EXPECT_EQ(option(*made, "--output"), "/scratch/100%%j/slurm-%j.out");
  paths.run_dir = "/scratch/a\\b";
  const auto refused = plan(two_by_two(), small_cluster(), paths, false);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().kind, ErrorKind::bad_request);
  EXPECT_THAT(refused.error().what, HasSubstr("backslash"));
}

TEST(PlanSlurm, MoreCoresThanANodeHasIsRefused) {
  auto job = run_job();
  job.resources.device = "cpu";
  job.resources.ranks_per_node = 2;
  job.resources.cpus_per_rank = 30;
  EXPECT_EQ(problem_of(job, lumi_like()).substr(0, 10), "placement:");
  job.resources.exclusive = false;
  auto facts = lumi_like();
  facts.topology = std::nullopt;
  EXPECT_THAT(problem_of(job, facts), HasSubstr("asked for 120 CPUs per node"));
}

std::vector<std::pair<std::string, std::string>> fence_of(const Job& job, const Facts& facts) {
  std::vector<std::pair<std::string, std::string>> found;
  for (const auto& variable : planned(job, facts).environment) {
    if (variable.first == "SLURM_PMIX_FENCE") found.push_back(variable);
  }
  return found;
}

TEST(PlanSlurm, RanksOfSeveralNodesMeetOverARingUnlessTheUserSaysOtherwise) {
  const Facts facts = small_cluster();
  Job job = two_by_two();
  EXPECT_THAT(fence_of(job, facts), ElementsAre(Pair("SLURM_PMIX_FENCE", "ring")));
  job.environment.variables = {{"SLURM_PMIX_FENCE", "mixed"}};
  EXPECT_THAT(fence_of(job, facts), ElementsAre(Pair("SLURM_PMIX_FENCE", "mixed")));
  job.environment.variables.clear();
  job.environment.left_alone = {"SLURM_PMIX_FENCE"};
  EXPECT_THAT(fence_of(job, facts), IsEmpty());
  Job one = two_by_two();
  one.resources.nodes = 1;
  EXPECT_THAT(fence_of(one, facts), IsEmpty()) << "one node needs no rendezvous";
}

}  // namespace
}  // namespace dllaunch
