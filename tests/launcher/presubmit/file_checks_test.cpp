#include "launcher/presubmit/file_checks.hpp"

#include <gmock/gmock.h>

#include <filesystem>

#include "tests/launcher/sample_plans.hpp"
#include "tests/support/fake_system.hpp"
#include "tests/support/temporary_folder.hpp"

namespace dllaunch {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

constexpr PathState program{.exists = true, .executable = true};

FakeSystem home() {
  FakeSystem system;
  system.folders = {"/", "/scratch/me", "/home/me/project"};
  system.programs = {"python3"};
  system.files["/home/me/project/train.py"] = "";
  system.paths["/opt/dllaunch/bin/dllaunch"] = program;
  return system;
}

std::string found(const Job& job, FakeSystem& system, const Paths& paths = sample_paths()) {
  std::string all;
  for (const auto& [problem, fatal, of_node_count, check] : check_files(job, paths, system))
    all += (fatal ? "!" : "") + problem.what + " (" + problem.hint + ")\n";
  return all;
}

std::string not_shared(FakeSystem& system, const Paths& paths) {
  const auto found = check_shared(run_job(), paths, system);
  return found.empty() ? "" : found[0].problem.what + " (" + found[0].problem.hint + ")";
}

std::string command(std::vector<std::string> argv, FakeSystem system = home()) {
  auto job = run_job();
  job.run_command = std::move(argv);
  return found(job, system);
}

TEST(FileChecks, AGoodJobHasNothingAgainstIt) {
  auto system = home();
  EXPECT_EQ(found(run_job(), system), "");
}

TEST(FileChecks, ARunThatOthersCanReplace) {
  const TemporaryFolder folder;
  auto system = home();
  auto paths = sample_paths();
  paths.run_dir = folder.path() + "/runs/a";
  system.folders.insert(folder.path());
  EXPECT_EQ(found(run_job(), system, paths), "");
  std::filesystem::permissions(folder.path(), std::filesystem::perms::all);
  EXPECT_THAT(found(run_job(), system, paths),
              testing::AllOf(HasSubstr("others can put another in the place of the run directory " +
                                       paths.run_dir + ": " + folder.path() +
                                       " can be written by others and has no sticky bit"),
                             Not(HasSubstr("!"))));
}

TEST(FileChecks, TheCommandOnPath) {
  EXPECT_THAT(command({"pyton3", "train.py"}), HasSubstr("!run: no command 'pyton3' on PATH"));
  auto job = run_job();
  job.run_command = {"gmx"};
  auto system = home();
  job.environment.modules = {"gromacs"};
  EXPECT_EQ(found(job, system), "") << "the module may bring it";
  job.environment.modules.clear();
  job.environment.setup = "export PATH=/x:$PATH";
  EXPECT_EQ(found(job, system), "");
  system.paths["/home/me/project/gmx"] = program;
  EXPECT_EQ(found(job, system),
            "run: gmx is looked for on PATH, not in this folder, which has one (write ./gmx, if "
            "that one is meant)\n")
      << "srun would find it, and the setup may not bring another";
  system.paths.clear();
  system.paths["/opt/dllaunch/bin/dllaunch"] = program;
  job.environment.setup.reset();
  job.environment.variables = {{"PATH", "/x"}};
  EXPECT_EQ(found(job, system), "");
  job.environment.variables.clear();
  job.environment.container = Container{.image = "docker://x"};
  EXPECT_THAT(found(job, system), Not(HasSubstr("gmx")));
}

TEST(FileChecks, TheCommandByItsPath) {
  auto system = home();
  system.files["/home/me/project/app"] = "";
  system.folders.insert("/home/me/project/dir");
  system.paths["/home/me/project/good"] = program;
  EXPECT_EQ(command({"./good"}, system), "");
  EXPECT_EQ(command({"/home/me/project/good"}, system), "");
  EXPECT_EQ(command({"./bad"}, system),
            "!run: no file /home/me/project/bad (correct the path: it is relative to the folder "
            "dllaunch was called in)\n");
  EXPECT_EQ(command({"$HOME/bad"}, system), "") << "not ours to expand";
  EXPECT_THAT(command({"/home/me/project/app"}, system), HasSubstr("is not executable (chmod +x"));
  EXPECT_THAT(command({"/home/me/project/dir"}, system), HasSubstr("is a folder"));
  EXPECT_THAT(command({"/home/me/project/none"}, system), HasSubstr("!run: no file"));
  EXPECT_THAT(command({"/opt/app/run"}, system), testing::StartsWith("run: /opt/app/run is not on"))
      << "the nodes may have other software than this machine: no more than a doubt";
}

TEST(FileChecks, TheScriptOfAnInterpreter) {
  EXPECT_THAT(command({"python3", "tran.py"}),
              HasSubstr("!run: python3 reads /home/me/project/tran.py, which does not exist"));
  EXPECT_THAT(command({"python3", "-u", "-W", "ignore", "tran.py"}), HasSubstr("tran.py"));
  EXPECT_EQ(command({"python3", "-m", "tran"}), "");
  EXPECT_EQ(command({"python3", "-c", "print()"}), "");
  EXPECT_EQ(command({"python3", "train.py", "none"}), "");
  EXPECT_EQ(command({"python3", "{stage}/tran.py"}), "") << "it comes with the data";
  EXPECT_THAT(command({"bash", "-c", "python3 -u tran.py --epochs 3"}),
              HasSubstr("!run: python3 reads /home/me/project/tran.py, which does not exist"));
  for (const char* text : {"python3 train.py", "python3 $X tran.py", "python3 'tran.py'",
                           "python3 tran.py$X", "cd x && python3 tran.py"})
    EXPECT_EQ(command({"bash", "-c", text}), "") << text;
}

TEST(FileChecks, ATextForBashWhereItIsPlain) {
  EXPECT_THAT(command({"bash", "-c", "# comment\n  pyton3 train.py | tee x"}), HasSubstr("pyton3"));
  for (const char* text : {"cd /x && ./app", "A=1 pyton3", "$X", "'my app'", "f() { :; }; f",
                           "if true; then x; fi", "", "# only", "[ -e x ]", "(pyton3)"})
    EXPECT_EQ(command({"bash", "-c", text}), "") << text;
  EXPECT_THAT(plain_words(" \n./a;b"), ElementsAre("./a"));
  EXPECT_THAT(plain_words("./a --lr=0.1 \tx:y,z $HOME b"), ElementsAre("./a", "--lr=0.1", "x:y,z"));
  EXPECT_THAT(plain_words("./a\n./b"), ElementsAre("./a"));
  EXPECT_THAT(plain_words("name ()"), IsEmpty());
}

TEST(FileChecks, WhereTheOutputGoes) {
  auto system = home();
  system.paths["/scratch/me"] = {.exists = true, .folder = true, .executable = true};
  EXPECT_THAT(found(run_job(), system), HasSubstr("you may not write in /scratch/me"));
  system.paths["/scratch/me"] = {.exists = true};
  EXPECT_THAT(found(run_job(), system), HasSubstr("/scratch/me is a file"));
}

TEST(FileChecks, WhatOtherMachinesDoNotSee) {
  auto system = home();
  system.folders.insert("/tmp");
  auto paths = sample_paths();
  paths.run_dir = "/tmp/run";
  EXPECT_THAT(not_shared(system, paths), testing::StartsWith("/tmp/run lies in a folder"));
  paths = sample_paths();
  system.paths["/scratch/me"] = {
      .exists = true, .folder = true, .executable = true, .writable = true, .in_memory = true};
  EXPECT_THAT(not_shared(system, paths), HasSubstr("--run-dir"));
}

TEST(FileChecks, AMountBelowTmpMayBeShared) {
  auto system = home();
  auto paths = sample_paths();
  paths.run_dir = "/tmp/my project/runs/a";
  system.files["/proc/self/mountinfo"] =
      "30 1 8:1 / / rw shared:1 - ext4 /dev/sda1 rw\n31 30 0:9 / /tmp rw - tmpfs tmp rw\n"
      "32 31 0:52 / /tmp/other rw - nfs4 server:/other rw\n";
  EXPECT_THAT(not_shared(system, paths), HasSubstr("/tmp/my project/runs/a lies"))
      << "/tmp itself is a mount on many machines";
  system.files["/proc/self/mountinfo"] += "33 31 0:53 / /tmp/my\\040project rw - nfs4 s:/p rw\n";
  EXPECT_EQ(not_shared(system, paths), "");
  paths.run_dir = "/tmp/my project2";
  EXPECT_THAT(not_shared(system, paths), HasSubstr("/tmp/my project2 lies"));
}

TEST(FileChecks, SourcesPrefixAndContainer) {
  auto system = home();
  auto job = run_job();
  job.stage = {"data.tar", "$HOME/x", "programs", "no-programs"};
  job.environment.activate = "/home/me/venv";
  job.environment.container = Container{.image = "images/a.sif", .mounts = {"/data:/data:ro"}};
  const auto all = found(job, system);
  EXPECT_THAT(all, HasSubstr("!stage: no file or folder /home/me/project/data.tar"));
  EXPECT_THAT(all, Not(HasSubstr("project/programs"))) << "words, no paths";
  EXPECT_THAT(all, Not(HasSubstr("$HOME")));
  EXPECT_THAT(all, HasSubstr("!environment.activate: /home/me/venv does not exist"));
  EXPECT_THAT(all, HasSubstr("!environment.container.image: no file or folder"));
  EXPECT_THAT(all, HasSubstr("!environment.container.mounts: no file or folder /data ("));
  EXPECT_THAT(all, HasSubstr("apptainer is not on this machine"));

  system.folders.insert("/home/me/venv");
  EXPECT_THAT(found(job, system), HasSubstr("is neither a venv nor a conda prefix"));
  system.files["/home/me/venv/bin/activate"] = "";
  EXPECT_THAT(found(job, system), Not(HasSubstr("activate")));
  for (const char* image : {"docker://alpine", "nvcr.io#nvidia/pytorch:24.01-py3"}) {
    job.environment.container->image = image;
    EXPECT_THAT(found(job, system), Not(HasSubstr("image"))) << image;
  }
}

TEST(FileChecks, TheTrainersDataAndItsProgram) {
  auto system = home();
  auto job = train_job();
  job.train["dataset"]["path"] = "/data/none";
  const auto all = found(job, system);
  EXPECT_THAT(
      all, HasSubstr("!the trainer dltrain is neither at /opt/dllaunch/bin/dltrain nor on PATH"));
  EXPECT_THAT(all, HasSubstr("!train.dataset.path: no file or folder /data/none"));
  system.programs.insert("dltrain");
  system.folders.insert("/data/none");
  EXPECT_EQ(found(job, system), "");
}

TEST(FileChecks, OfAPatternOfTokenShardsTheFolder) {
  auto system = home();
  system.programs.insert("dltrain");
  auto job = train_job();
  job.train["dataset"]["kind"] = "tokens";
  job.train["dataset"]["path"] = "/data/none/x_train_*.bin";
  EXPECT_THAT(found(job, system), HasSubstr("!train.dataset.path: no file or folder /data/none"));
  system.folders.insert("/data/none/");
  EXPECT_EQ(found(job, system), "");
  job.train["dataset"]["path"] = "*.bin";
  EXPECT_THAT(found(job, system), Not(HasSubstr("*.bin")));
}

TEST(FileChecks, TheWeightsToBeginWith) {
  auto system = home();
  system.programs.insert("dltrain");
  auto job = train_job();
  job.train["init_from"] = "/data/resnet50.safetensors";
  EXPECT_THAT(found(job, system),
              HasSubstr("!train.init_from: no file or folder /data/resnet50.safetensors"));
  system.files["/data/resnet50.safetensors"] = "";
  EXPECT_EQ(found(job, system), "");
  system.folders.insert("/data/resnet50");
  job.train["init_from"] = "/data/resnet50";
  EXPECT_THAT(found(job, system), HasSubstr("!train.init_from: /data/resnet50 is a folder"));
}

/// `after: [FIRST]` and a file of FIRST.
TEST(FileChecks, TheWeightsToBeginWithMayBeWhatAnAwaitedJobWrites) {
  auto system = home();
  system.programs.insert("dltrain");
  auto job = train_job();
  job.train["init_from"] = "/data/first/model.safetensors";
  job.after = {"first"};
  EXPECT_EQ(found(job, system), "");
}

/// The run goes on from its own weights, whatever became of the file.
TEST(FileChecks, TheWeightsToBeginWithAreNotNeededTwice) {
  auto system = home();
  system.programs.insert("dltrain");
  auto job = train_job();
  job.train["init_from"] = "/data/resnet50.safetensors";
  system.folders.insert(sample_paths().run_dir + "/checkpoints");
  EXPECT_EQ(found(job, system), "");
  job.train["resume"] = "none";
  EXPECT_THAT(found(job, system), HasSubstr("!train.init_from: no file or folder"));
}

}  // namespace
}  // namespace dllaunch
