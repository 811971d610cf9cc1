#include "launcher/plan/container.hpp"

#include <gmock/gmock.h>

#include <filesystem>
#include <fstream>

#include "launcher/os/posix_system.hpp"
#include "tests/launcher/sample_plans.hpp"
#include "tests/support/temporary_folder.hpp"

namespace dllaunch {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

const std::string run_dir = "/scratch/me/runs/job-20261120-200000-ab12";

Job contained(const std::string& runtime, const std::string& image = "/images/torch.sif") {
  auto job = run_job();
  job.environment.container =
      Container{.image = image, .runtime = runtime, .mounts = {"/data", "/a:/b", "/a:/c:ro"}};
  return job;
}

TEST(Container, ApptainerIsStartedByTheShim) {
  const auto made = planned(contained("apptainer"), lumi_like());
  EXPECT_THAT(
      made.start.program,
      ElementsAre("apptainer", "exec", "--rocm", "--bind", run_dir, "--bind", "/home/me/project",
                  "--bind", "/data", "--bind", "/a:/b", "--bind", "/a:/c:ro", "--pwd",
                  "/home/me/project", "/images/torch.sif", "python3", "train.py", "--epochs", "3"));
  EXPECT_THAT(made.start.argv(), Contains("/opt/dllaunch/bin/dllaunch"));
  EXPECT_THAT(planned(contained("singularity"), mixed_cluster()).start.program[0], "singularity");
}

TEST(Container, TheDriversLibrariesComeByDevice) {
  auto job = contained("apptainer");
  job.resources.partition = "gpu";
  EXPECT_THAT(planned(job, mixed_cluster()).start.program, Contains("--nv"));
  EXPECT_THAT(planned(contained("apptainer"), small_cluster()).start.program,
              Not(Contains(testing::AnyOf("--nv", "--rocm"))));
  job.resources.device = "cpu";
  EXPECT_THAT(planned(job, mixed_cluster()).start.program, Not(Contains("--nv")));
}

TEST(Container, OnOneMachineToo) {
  const auto made = planned(contained("apptainer", "docker://a/b"), one_machine("cores:2"), true);
  EXPECT_THAT(made.start.program, Contains("docker://a/b"));
}

TEST(Container, AnAddressIsFetchedOnceByTheScript) {
  const auto made = planned(contained("apptainer", "docker://a/b:1"), small_cluster());
  EXPECT_EQ(fetched_image(made), run_dir + "/image.sif");
  EXPECT_THAT(made.start.program, Contains(run_dir + "/image.sif"));
  EXPECT_THAT(render_sbatch(made),
              HasSubstr("apptainer pull \"$dllaunch_image.$SLURM_JOB_ID\" docker://a/b:1"));
  const auto by_enroot = planned(contained("enroot", "docker://a/b:1"), small_cluster());
  EXPECT_THAT(render_sbatch(by_enroot),
              HasSubstr("enroot import --output \"$dllaunch_image.$SLURM_JOB_ID\" docker://a/b:1"));
}

TEST(Container, SeesWhatWasStaged) {
  auto job = contained("apptainer");
  job.stage = {"/data/images.tar"};
  EXPECT_THAT(render_sbatch(planned(job, small_cluster())),
              HasSubstr("export APPTAINER_BIND=\"${APPTAINER_BIND:+$APPTAINER_BIND,}"
                        "$DLLAUNCH_STAGE\"\n"));
  job.environment.container->runtime = "enroot";
  EXPECT_THAT(render_sbatch(planned(job, small_cluster())), Not(HasSubstr("_BIND=")));
}

TEST(Container, EnrootIsStartedByTheShimWithoutPyxis) {
  const auto made = planned(contained("enroot", "torch.sqsh"), small_cluster());
  ASSERT_GT(made.start.program.size(), 20U);
  EXPECT_THAT(std::vector<std::string>(made.start.program.begin() + 3, made.start.program.end()),
              ElementsAre("enroot", "--mount", run_dir + ":" + run_dir, "--mount",
                          "/home/me/project:/home/me/project", "--mount", "/data:/data", "--mount",
                          "/a:/b", "--mount", "/a:/c:none:x-create=auto,rbind,ro", "--",
                          "torch.sqsh", "sh", "-c", "cd -- \"$0\" && exec \"$@\"",
                          "/home/me/project", "python3", "train.py", "--epochs", "3"));
}

/// bash runs what the shim would; a program called enroot writes down what it was given.
TEST(Container, EnrootIsGivenTheRanksVariables) {
  const TemporaryFolder folder;
  const auto enroot = folder.path() + "/enroot";
  std::ofstream(enroot) << "#!/bin/sh\nprintf '%s\\n' \"$@\"\n";
  std::filesystem::permissions(enroot, std::filesystem::perms::owner_all);
  const auto made = planned(contained("enroot", "torch.sqsh"), small_cluster());
  std::vector<std::string> argv = {"env",
                                   "-i",
                                   "PATH=" + folder.path() + ":/usr/bin:/bin",
                                   "RANK=3",
                                   "DLLAUNCH_STAGE=/tmp/staged",
                                   "SLURM_JOB_ID=7",
                                   "LD_PRELOAD_NOT=x",
                                   "HOME=/h",
                                   "NOTE=two\nlines; $(touch pwned)"};
  argv.insert(argv.end(), made.start.program.begin(), made.start.program.end());
  const auto output = PosixSystem(Console{}).run(argv, std::chrono::seconds(20));
  ASSERT_TRUE(output);
  EXPECT_EQ(output->err, "");
  EXPECT_THAT(output->out, StartsWith("start\n--env\n"));
  for (const auto* name : {"RANK", "SLURM_JOB_ID", "NOTE"})
    EXPECT_THAT(output->out, HasSubstr("--env\n" + std::string(name) + "\n"));
  EXPECT_THAT(output->out, HasSubstr("--mount\n/tmp/staged:/tmp/staged\n"));
  for (const auto* name : {"PATH", "HOME", "LD_PRELOAD_NOT", "PWD"})
    EXPECT_THAT(output->out, Not(HasSubstr("--env\n" + std::string(name) + "\n")));
  EXPECT_THAT(output->out, HasSubstr("\n--\ntorch.sqsh\nsh\n-c\ncd -- \"$0\" && exec \"$@\"\n"
                                     "/home/me/project\npython3\ntrain.py\n"));
}

TEST(Container, WithPyxisSrunStartsTheShimInside) {
  auto facts = small_cluster();
  facts.slurm->pyxis = true;
  const auto made = planned(contained("enroot", "nvcr.io#nvidia/pytorch:25.01-py3"), facts);
  EXPECT_THAT(made.start.argv(), Contains("--container-image=nvcr.io#nvidia/pytorch:25.01-py3"));
  EXPECT_THAT(made.start.argv(), Contains("--container-workdir=/home/me/project"));
  EXPECT_THAT(made.start.argv(),
              Contains("--container-mounts=" + run_dir + ":" + run_dir +
                       ",/home/me/project:/home/me/project,/data:/data,/a:/b,/a:/c:ro"));
  EXPECT_THAT(made.start.argv(), Contains(run_dir + "/shim/ld.so"));
  EXPECT_EQ(made.start.program[0], "python3");
  EXPECT_EQ(fetched_image(made), "");
  EXPECT_THAT(planned(contained("apptainer"), facts).start.argv(),
              Not(Contains(StartsWith("--container"))));
}

TEST(Container, WhatMountsCannotCarryIsRefused) {
  auto job = contained("apptainer");
  job.environment.container->mounts = {"/a:/b:rx"};
  EXPECT_THAT(problem_of(job, small_cluster()), HasSubstr("'/a:/b:rx' is not a mount"));
  job.environment.container->mounts = {"/a,/b"};
  EXPECT_THAT(problem_of(job, small_cluster()), HasSubstr("cannot carry"));
  job.environment.container->mounts = {"/with blank"};
  EXPECT_EQ(problem_of(job, small_cluster()), "none");
  job.environment.container->runtime = "enroot";
  EXPECT_THAT(problem_of(job, small_cluster()), HasSubstr("cannot carry"));
}

}  // namespace
}  // namespace dllaunch
