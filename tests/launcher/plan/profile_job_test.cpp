#include "launcher/plan/profile_job.hpp"

#include <gmock/gmock.h>

#include "tests/launcher/sample_plans.hpp"

namespace dllaunch {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::Pair;

ClusterProfile site() {
  ClusterProfile profile;
  profile.name = "site";
  profile.file = "site.yaml";
  profile.modules = {"site", "cuda"};
  profile.variables = {{"NCCL_DEBUG", "WARN"}, {"NCCL_SOCKET_IFNAME", "hsn0"}};
  profile.node_folders = {{"CACHE", "/tmp/{user}"}, {"OTHER", "/tmp/{user}-o"}};
  profile.container = {.runtime = "singularity", .mounts = {"/opt/site"}};
  profile.sbatch_extra = {"--constraint=gpu", "-S 8"};
  profile.srun_extra = {"--network=x"};
  profile.host_suffix = "i";
  return profile;
}

TEST(ProfileJob, ComesBelowTheUsersOwnWords) {
  auto job = run_job();
  job.environment.modules = {"cuda", "mine"};
  job.environment.variables = {{"NCCL_DEBUG", "INFO"}, {"A", "1"}};
  job.resources.sbatch_extra = {"--mail-type=END"};
  const auto merged = with_profile(job, site());
  EXPECT_THAT(merged.environment.modules, ElementsAre("site", "cuda", "mine"));
  EXPECT_THAT(
      merged.environment.variables,
      ElementsAre(Pair("NCCL_SOCKET_IFNAME", "hsn0"), Pair("NCCL_DEBUG", "INFO"), Pair("A", "1")));
  EXPECT_EQ(merged.resources.constraint, "gpu") << "it decides which nodes are planned for";
  EXPECT_THAT(merged.resources.sbatch_extra, ElementsAre("-S 8", "--mail-type=END"));
  EXPECT_THAT(merged.resources.srun_extra, ElementsAre("--network=x"));
}

TEST(ProfileJob, AnOptionOfTheUsersTakesThePlaceOfTheProfiles) {
  auto job = run_job();
  job.resources.sbatch_extra = {"-C hbm80g", "--core-spec=0"};
  EXPECT_THAT(with_profile(job, site()).resources.sbatch_extra,
              ElementsAre("-C hbm80g", "--core-spec=0"));
  job.resources.sbatch_extra = {};
  job.resources.constraint = "hbm80g";
  EXPECT_THAT(with_profile(job, site()).resources.sbatch_extra, ElementsAre("-S 8"));
}

TEST(ProfileJob, AnOptionOfTheProfileCanBeTakenAway) {
  auto job = run_job();
  job.resources.sbatch_extra = {"!--constraint", "!-S", "!--requeue"};
  job.resources.srun_extra = {"!--network"};
  const auto merged = with_profile(job, site());
  EXPECT_THAT(merged.resources.sbatch_extra, ElementsAre("!--requeue"))
      << "what takes away a line of dllaunch's own is left to it";
  EXPECT_THAT(merged.resources.srun_extra, IsEmpty());
}

TEST(ProfileJob, AVariableOfTheProfileCanBeTakenAway) {
  auto job = run_job();
  job.environment.left_alone = {"NCCL_DEBUG", "OTHER"};
  EXPECT_THAT(with_profile(job, site()).environment.variables,
              ElementsAre(Pair("NCCL_SOCKET_IFNAME", "hsn0")));
  LaunchPlan plan;
  finish_plan(job, site(), plan);
  EXPECT_THAT(plan.node_folders, ElementsAre(Pair("CACHE", "/tmp/{user}")));
}

TEST(ProfileJob, AContainerGetsTheSitesMounts) {
  auto job = run_job();
  EXPECT_FALSE(with_profile(job, site()).environment.container) << "none where none was asked for";
  job.environment.container = Container{.image = "a.sif", .mounts = {"/data"}};
  const auto container = with_profile(job, site()).environment.container;
  EXPECT_EQ(container->runtime, "singularity");
  EXPECT_THAT(container->mounts, ElementsAre("/opt/site", "/data"));
  job.environment.container->runtime = "enroot";
  EXPECT_EQ(with_profile(job, site()).environment.container->runtime, "enroot");
}

TEST(ProfileJob, AConstraintForGpusIsNotForJobsWithout) {
  auto job = run_job();
  job.resources.device = "cpu";
  const auto merged = with_profile(job, site());
  EXPECT_FALSE(merged.resources.constraint);
  EXPECT_THAT(merged.resources.sbatch_extra, ElementsAre("-S 8"));
  auto profile = site();
  profile.sbatch_extra = {"-C ib"};
  EXPECT_EQ(with_profile(run_job(), profile).resources.constraint, "ib");
}

TEST(ProfileJob, ModulesThatTheSiteSuggestsAreShownAndNotLoaded) {
  auto profile = site();
  profile.modules = {};
  profile.suggested_modules = {{"mpi", {"LUMI", "partition/G"}}};
  const auto suggested = [&profile](const Job& job) {
    auto plan = planned(job, lumi_like());
    finish_plan(job, profile, plan);
    EXPECT_THAT(plan.modules, testing::ElementsAreArray(job.environment.modules));
    return plan;
  };
  auto job = run_job();
  EXPECT_THAT(suggested(job).suggested_modules, IsEmpty()) << "no MPI, as far as we know";
  job.framework = "mpi";
  EXPECT_THAT(render_plan(suggested(job)),
              testing::HasSubstr("environment.modules is empty; the site suggests [LUMI, "
                                 "partition/G]\n"));
  EXPECT_THAT(suggested(train_job()).suggested_modules, ElementsAre("LUMI", "partition/G"));
  for (int own = 0; own < 3; ++own) {
    auto decided = job;
    if (own == 0) decided.environment.modules = {"mine"};
    if (own == 1) decided.environment.activate = "/venv";
    if (own == 2) decided.environment.container = Container{.image = "a.sif"};
    auto plan = planned(job, lumi_like());
    finish_plan(decided, profile, plan);
    EXPECT_THAT(plan.suggested_modules, IsEmpty()) << own;
  }
}

TEST(ProfileJob, ThePlanHoldsWhatOnlyTheNodeCanDo) {
  auto job = run_job();
  job.environment.variables = {{"CACHE", "/scratch/mine"}};
  LaunchPlan plan;
  finish_plan(job, site(), plan);
  EXPECT_EQ(plan.cluster, "site");
  EXPECT_EQ(plan.profile, "site.yaml");
  EXPECT_EQ(plan.host_suffix, "i");
  EXPECT_EQ(plan.scheduler, "Slurm");
  EXPECT_THAT(plan.node_folders, ElementsAre(Pair("OTHER", "/tmp/{user}-o")));
}

TEST(ProfileJob, AnotherSchedulersLineStartsTheRanks) {
  auto profile = site();
  profile.scheduler = "pbs";
  profile.start =
      "mpiexec -n {ranks} --ppn {ranks_per_node} --depth={cores_per_rank} "
      "--gpus={gpus_per_rank} --hosts={nodes} --cpu-bind list:{cpus}";
  auto plan = planned(run_job(), lumi_like());
  finish_plan(run_job(), profile, plan);
  EXPECT_EQ(plan.scheduler, "PBS");
  EXPECT_THAT(plan.start.argv(),
              ElementsAre("mpiexec", "-n", "8", "--ppn", "8", "--depth=7", "--gpus=1", "--hosts=1",
                          "--cpu-bind", "list:49-55:57-63:17-23:25-31:1-7:9-15:33-39:41-47",
                          "/opt/dllaunch/bin/dllaunch", "exec", "--run-dir",
                          "/scratch/me/runs/job-20261120-200000-ab12", "--framework", "none", "--",
                          "python3", "train.py", "--epochs", "3"));
  EXPECT_THAT(plan.sbatch, IsEmpty());
}

}  // namespace
}  // namespace dllaunch
