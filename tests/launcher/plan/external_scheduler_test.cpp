#include "launcher/plan/external_scheduler.hpp"

#include <gmock/gmock.h>

#include "launcher/plan/profile_job.hpp"
#include "tests/launcher/sample_plans.hpp"

namespace dllaunch {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

ClusterProfile pbs() {
  ClusterProfile profile;
  profile.name = "site";
  profile.scheduler = "pbs";
  profile.start = "mpiexec -n {ranks}";
  profile.variables = {{"NCCL_NET", "AWS Libfabric"}};
  profile.node_folders = {{"CACHE", "/tmp/{user}-$x-{job}"}};
  return profile;
}

LaunchPlan planned_on(const ClusterProfile& profile, const Job& job) {
  auto facts = lumi_like();
  facts.profile = std::make_shared<const ClusterProfile>(profile);
  facts.from_profile = true;
  return planned(job, facts);
}

TEST(ExternalScheduler, TheLineIsTheWholeJob) {
  auto job = run_job();
  job.framework = "pytorch";
  job.environment.modules = {"conda"};
  job.environment.setup = "ulimit -c 0\nulimit -n 99";
  const auto plan = planned_on(pbs(), job);
  EXPECT_THAT(plan.start.argv(),
              ElementsAre("mpiexec", "-n", "8", "/opt/dllaunch/bin/dllaunch", "exec", "--run-dir",
                          "/scratch/me/runs/job-20261120-200000-ab12", "--framework", "pytorch",
                          "--", "python3", "train.py", "--epochs", "3"));
  EXPECT_THAT(plan.before,
              ElementsAre("cd -- /home/me/project", "module load conda",
                          "export CUDA_DEVICE_ORDER=PCI_BUS_ID", "export NCCL_NET='AWS Libfabric'",
                          R"(export CACHE="/tmp/$USER-\$x-$PBS_JOBID")",
                          "mkdir -p -- /scratch/me/runs/job-20261120-200000-ab12/out",
                          "/opt/dllaunch/bin/dllaunch plan JOB.yaml --set cluster=site --json > "
                          "/scratch/me/runs/job-20261120-200000-ab12/plan.json",
                          "ulimit -c 0", "ulimit -n 99"));
  EXPECT_THAT(plan.sbatch, IsEmpty());
  EXPECT_THAT(render_plan(plan), HasSubstr("  ulimit -n 99\n  mpiexec \\\n"));
  EXPECT_THAT(plan.warnings, Contains(HasSubstr("nothing requeues it")));
}

TEST(ExternalScheduler, WhatIsStagedElsewhereIsReadFromItsSource) {
  auto job = run_job();
  job.stage = {"/data/imagenet", "small"};
  job.run_command = {"python3", "t.py", "--data={stage}/imagenet/train", "{stage}/imagenet2",
                     "{stage}/small"};
  job.environment.variables = {{"DATA", "{stage}/small"}};
  const auto read = for_external_scheduler(job);
  EXPECT_THAT(read.run_command, ElementsAre("python3", "t.py", "--data=/data/imagenet/train",
                                            "{stage}/imagenet2", "small"));
  EXPECT_EQ(read.environment.variables.at(0).second, "small");
  const auto plan = planned_on(pbs(), job);
  EXPECT_THAT(plan.start.argv(), Not(Contains("--staged")));
  EXPECT_THAT(render_plan(plan), Not(HasSubstr("own disk")));
  EXPECT_THAT(plan.warnings, Contains(HasSubstr("stage: nothing is copied on site")));
  EXPECT_THAT(plan.warnings, Contains(HasSubstr("{stage} is left in the command")));
}

TEST(ExternalScheduler, ARunAsTextKeepsItsQuotes) {
  auto job = run_job();
  job.stage = {"/my data/x", "/plain/y"};
  job.run_command = {"bash", "-c", "cat \"{stage}/x\" {stage}/y; ls {stage}/y/z"};
  EXPECT_EQ(for_external_scheduler(job).run_command.at(2),
            "cat \"{stage}/x\" /plain/y; ls /plain/y/z");
}

TEST(ExternalScheduler, AnArchiveIsTheUsersToUnpack) {
  auto job = run_job();
  job.stage = {"/data/set.tar.gz"};
  job.run_command = {"ls", "{stage}/set"};
  EXPECT_THAT(planned_on(pbs(), job).warnings, Contains(HasSubstr("unpack the archive")));
}

TEST(ExternalScheduler, TheTrainersFileIsWrittenByTheScript) {
  auto job = train_job();
  job.stage = {"/data/mnist"};
  job.train["dataset"]["path"] = "{stage}/mnist";
  const auto plan = planned_on(pbs(), job);
  EXPECT_THAT(plan.start.argv(), Not(Contains("--framework"))) << "it asks MPI";
  EXPECT_THAT(plan.before, Contains(HasSubstr("train.json << 'END_OF_TRAIN'")));
  EXPECT_THAT(plan.before, Contains(HasSubstr("\"path\": \"/data/mnist\"")));
  EXPECT_THAT(plan.before, Contains("END_OF_TRAIN"));
}

TEST(ExternalScheduler, SaysWhatIsNotDoneThere) {
  auto job = run_job();
  job.array = "0-9";
  job.after = {"17"};
  job.environment.container = Container{.image = "docker://x/y"};
  job.recovery.spare_nodes = 1;
  job.recovery.written = true;
  const auto plan = planned_on(pbs(), job);
  EXPECT_EQ(plan.recovery.spare_nodes, 0);
  EXPECT_THAT(plan.warnings, Contains(HasSubstr("recovery.spare_nodes has no effect: ")));
  EXPECT_THAT(plan.warnings, Contains(HasSubstr("array: these lines start one task")));
  EXPECT_THAT(plan.warnings, Contains(HasSubstr("after: has no effect")));
  EXPECT_THAT(plan.warnings, Contains(HasSubstr("is an address")));
  EXPECT_EQ(plan.paths.run_dir, "/scratch/me/runs/job-20261120-200000-ab12");
  EXPECT_THAT(plan.start.argv(), Not(Contains(HasSubstr("%a"))));
}

TEST(ExternalScheduler, AprunTellsRanksTooLittleForTheShim) {
  auto profile = pbs();
  profile.scheduler = "cobalt";
  profile.start = "aprun -n {ranks}";
  const auto plan = planned_on(profile, run_job());
  EXPECT_THAT(plan.start.argv(),
              ElementsAre("aprun", "-n", "8", "python3", "train.py", "--epochs", "3"));
  EXPECT_THAT(plan.before, Not(Contains(HasSubstr("plan.json"))));
  EXPECT_THAT(plan.warnings, Contains(HasSubstr("ALPS_APP_PE")));
}

}  // namespace
}  // namespace dllaunch
