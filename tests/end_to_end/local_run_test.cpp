// The whole road on this machine: the real dllaunch, the real mpirun, the real trainer.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "launcher/os/posix_system.hpp"
#include "launcher/run/run_dir_files.hpp"
#include "tests/end_to_end/local_run.hpp"
#include "tests/topology/discovery/xml_node.hpp"

namespace dllaunch {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;
using testing::HasSubstr;

TEST_F(LocalRun, TrainsAndLeavesAWholeRunDirectory) {
  const auto ended = work_.run(args(job()));
  ASSERT_EQ(ended.exit_code, 0) << ended.err;
  const auto names = entries_of(work_.run_dir());
  for (const char* name : {"job.yaml", "train.json", "plan.json", "events.jsonl", "out",
                           "checkpoints", "summary.json"}) {
    EXPECT_TRUE(names.count(name)) << name;
  }
  EXPECT_EQ(unexplained_files(work_.run_dir()), std::vector<std::string>());
  EXPECT_EQ(entries_of(work_.run_dir() + "/out").size(), 3u);  // two ranks and mpirun
  EXPECT_EQ(events_of(work_.run_dir(), "epoch").size(), 2u);
  EXPECT_EQ(events_of(work_.run_dir(), "end").back()["status"], "completed");
  EXPECT_EQ(summary()["status"], "completed");
  EXPECT_EQ(summary()["ranks"], 2);
  EXPECT_EQ(summary()["epochs"], 2);
  EXPECT_TRUE(summary()["queue_seconds"].is_null());
  EXPECT_GT(summary()["images_per_s"], 0);
  EXPECT_GT(summary()["goodput"], 0);
  expect_books_of_two_ranks("trainer");
  EXPECT_THAT(ended.err, HasSubstr("epoch 2/2: loss"));
  EXPECT_THAT(ended.out, HasSubstr("completed: 2 ranks, 2 epochs"));
  expect_nothing_left();
}

TEST_F(LocalRun, TheExampleOfTokensTrainsInItsSmallForm) {
  auto words = args(DLLAUNCH_SOURCE_DIR "/examples/gpt2.yaml");
  for (const char* set : {"model=gpt2-tiny", "dataset.sequence=32", "dataset.images=64",
                          "dataset.classes=128", "max_steps=null"}) {
    words.insert(words.end(), {"--set", std::string("train.") + set});
  }
  const auto ended = work_.run(words);
  ASSERT_EQ(ended.exit_code, 0) << ended.err;
  EXPECT_THAT(ended.err, HasSubstr("val_perplexity"));
  EXPECT_THAT(ended.out, HasSubstr(" tokens/s (first epoch included)"));
  EXPECT_GT(summary()["tokens_per_s"], 0);
  const double val_loss = events_of(work_.run_dir(), "epoch").at(0).at("val_loss").get<double>();
  EXPECT_DOUBLE_EQ(summary()["val_perplexity"].get<double>(), std::exp(val_loss));
  expect_nothing_left();
}

TEST_F(LocalRun, ACommandsMemoryIsThatOfItsMostDemandingProcess) {
  const auto ended =
      work_.run(args(command("head -c 50000000 /dev/zero | tail -c 40000000 >/dev/null")));
  ASSERT_EQ(ended.exit_code, 0) << ended.err;
  EXPECT_EQ(summary()["peak_memory_source"], "mpirun");
  EXPECT_GT(summary()["peak_memory_bytes"], 38 << 20);
  EXPECT_TRUE(summary()["peak_memory_by_rank"].is_null());
}

/// A machine that hwloc is told of: its driver counts from the far end of the PCI buses.
TEST_F(LocalRun, EachRankIsToldTheAddressOfItsOwnGpu) {
  const auto gpu = [](int bus, const char* name) {
    return pci_device(bus, "0302 [10de:2330]", osdev(name, gpu_type));
  };
  work_.environment = {
      {"HWLOC_XMLFILE", work_.file("node.xml", xml_node(gpu(0x03, "nvml1") + gpu(0xc1, "nvml0")))}};
  const auto job =
      work_.file("gpus.yaml", "name: gpus\nrun: [bash, -c, 'echo \"drives $DLLAUNCH_GPUS.\"']\n");
  const auto ended = work_.run(args(job));
  ASSERT_EQ(ended.exit_code, 0) << ended.err;
  EXPECT_THAT(log_of(0), HasSubstr("drives 0000:c1:00.0.\n"));
  EXPECT_THAT(log_of(1), HasSubstr("drives 0000:03:00.0.\n"));
}

TEST_F(LocalRun, WithoutADirectoryMakesOneBelowRuns) {
  const auto ended = work_.run({job(), "--local", "--set", "train.epochs=1", "-q"});
  ASSERT_EQ(ended.exit_code, 0) << ended.err;
  const auto runs = entries_of(work_.path() + "/runs");
  ASSERT_EQ(runs.size(), 1u);
  EXPECT_EQ(runs.begin()->rfind("tiny-", 0), 0u);
  EXPECT_EQ(ended.err, "");
}

TEST_F(LocalRun, DryRunWritesNothing) {
  const auto ended = work_.run(args(job(), {"--dry-run"}));
  EXPECT_EQ(ended.exit_code, 0) << ended.err;
  EXPECT_THAT(ended.out, HasSubstr("mpirun"));
  EXPECT_FALSE(fs::exists(work_.run_dir()));
  EXPECT_FALSE(fs::exists(work_.path() + "/runs"));
}

TEST_F(LocalRun, AKilledRankEndsAllAndIsNamed) {
  kill_a_rank();
}

/// The paragraph is the one that a Slurm job ends with.
TEST_F(LocalRun, ADeadRankIsTellingWhyAndWhatToChange) {
  const std::string host = PosixSystem(Console{}).host_name();
  const auto ended = work_.run(
      args(command("[ $RANK = 1 ] || sleep 300; python3 -c \"import nosuchmodule\" || exit 7")));
  EXPECT_EQ(ended.exit_code, 1) << ended.err;
  EXPECT_THAT(ended.err, HasSubstr("dllaunch: first error: rank 1 on " + host +
                                   ": ModuleNotFoundError: No "
                                   "module named 'nosuchmodule'\n"
                                   "dllaunch: rank 1 on " +
                                   host +
                                   " exited with code 7\n"
                                   "  try: the ranks' Python lacks it: set environment.activate"));
  EXPECT_THAT(ended.err, HasSubstr("    | ModuleNotFoundError"));
  EXPECT_THAT(summary()["first_error"], HasSubstr("ModuleNotFoundError"));
  EXPECT_THAT(summary()["advice"], HasSubstr("environment.activate"));
  EXPECT_THAT(work_.run({"status", work_.run_dir()}).out, HasSubstr("first error rank 1 on "));
}

/// Lines that are as short as can be cost their reader the most.
TEST_F(LocalRun, MuchOutputTakesLittleMemory) {
  const auto file = work_.file("much.yaml",
                               "name: much\nresources: {ranks_per_node: 1, device: cpu}\n"
                               "run: [bash, -c, 'yes | head -c 32000000']\n");
  const auto peak_kib = [](pid_t pid) {
    std::ifstream status("/proc/" + std::to_string(pid) + "/status");
    for (std::string line; std::getline(status, line);) {
      if (line.starts_with("VmHWM:")) return std::atol(line.c_str() + 6);
    }
    return 0L;
  };
  work_.start(args(file));
  long most = 0;
  while (work_.running()) {
    most = std::max(most, peak_kib(work_.pid()));
    pause_briefly();
  }
  const auto ended = work_.wait();
  EXPECT_EQ(ended.exit_code, 0);
  EXPECT_GE(std::count(ended.err.begin(), ended.err.end(), 'y'), 16'000'000);
  EXPECT_GT(most, 0);
  EXPECT_LT(most, 100 << 10);
}

TEST_F(LocalRun, InterruptedSavesAndLeavesNothing) {
  work_.start(args(job(), long_run_));
  ASSERT_TRUE(steps_were_made());
  const auto scratch = scratch_of(work_.run_dir());
  EXPECT_FALSE(scratch.empty()) << "this test looks in the wrong place";
  const pid_t group = work_.pid();
  work_.signal(SIGINT);
  const auto ended = work_.wait(60s);
  EXPECT_EQ(ended.exit_code, 130) << ended.err;
  EXPECT_EQ(events_of(work_.run_dir(), "end").back()["status"], "cancelled");
  const auto checkpoint = events_of(work_.run_dir(), "checkpoint").back();
  EXPECT_GE(checkpoint["step"], events_of(work_.run_dir(), "step").back()["step"]);
  EXPECT_TRUE(fs::exists(checkpoint["path"].get<std::string>() + "/model.safetensors"));
  EXPECT_EQ(summary()["status"], "cancelled");
  expect_nothing_left();
  EXPECT_NE(kill(-group, 0), 0) << "the process group still has members";
  for (const auto& folder : scratch) EXPECT_FALSE(fs::exists(folder)) << folder;
}

TEST_F(LocalRun, TheSecondSignalEndsAStubbornCommandNow) {
  work_.start(args(command("trap : USR2 TERM; while :; do sleep 0.1; done"),
                   {"--set", "recovery.grace_seconds=300"}));
  ASSERT_TRUE(rank_is_there(1));
  work_.signal(SIGTERM);
  std::this_thread::sleep_for(500ms);
  work_.signal(SIGTERM);
  EXPECT_EQ(work_.wait(30s).exit_code, 143);
  expect_nothing_left();
}

TEST_F(LocalRun, RanksOwnCodesPassThrough) {
  for (const auto& [code, expected] :
       std::vector<std::pair<int, int>>{{2, 2}, {3, 3}, {93, 93}, {7, 1}, {0, 0}}) {
    fs::remove_all(work_.run_dir());
    const auto ended = work_.run(args(command("[ $RANK = 0 ] || { echo last words; exit " +
                                              std::to_string(code) + "; }; sleep 1")));
    EXPECT_EQ(ended.exit_code, expected) << ended.err;
    if (code != 0) {
      EXPECT_THAT(ended.err, HasSubstr("    | last words"));
    }
  }
}

// Ranks that agree on an error leave together; mpirun may name one that has nothing to say.
TEST_F(LocalRun, TheRankWithTheWordsIsQuotedWhicheverLeavesFirst) {
  for (const int first : {0, 1}) {
    fs::remove_all(work_.run_dir());
    const auto ended = work_.run(
        args(command("[ $RANK = 1 ] || echo 'dltrain: error: no such file' >&2; [ $RANK = " +
                     std::to_string(first) + " ] || { trap '' TERM; sleep 0.5; }; exit 2")));
    EXPECT_EQ(ended.exit_code, 2) << ended.err;
    EXPECT_THAT(ended.err, HasSubstr("dltrain: error: no such file"));
  }
}

TEST_F(LocalRun, ARanksProgramThatCannotRun) {
  const auto missing = work_.run(
      args(work_.file("m.yaml", "name: m\nresources: {device: cpu}\nrun: [/no/such/program]\n")));
  EXPECT_EQ(missing.exit_code, 2);
  EXPECT_THAT(missing.err, HasSubstr("/no/such/program"));
  EXPECT_FALSE(fs::exists(work_.run_dir()));

  // Found and executable, but not its interpreter: only the shim can tell.
  const auto broken = work_.file("broken", "#!/no/such/interpreter\n");
  fs::permissions(broken, fs::perms::owner_all);
  const auto refused = work_.run(args(work_.file(
      "b.yaml", "name: b\nresources: {device: cpu, ranks_per_node: 1}\nrun: [" + broken + "]\n")));
  EXPECT_EQ(refused.exit_code, 1);
  EXPECT_THAT(refused.err, HasSubstr("cannot run " + broken));
}

TEST_F(LocalRun, RefusesBeforeAnythingStarts) {
  const auto blocked = work_.file("blocked", "a file, not a folder");
  const auto unwritable = work_.run({"run", job(), "--local", "--run-dir", blocked + "/run"});
  EXPECT_EQ(unwritable.exit_code, 2);
  EXPECT_THAT(unwritable.err, HasSubstr(blocked));

  const auto unknown = work_.run(args(job(), {"--set", "train.modell=cnn"}));
  EXPECT_EQ(unknown.exit_code, 2);
  EXPECT_FALSE(fs::exists(work_.run_dir()));

  work_.environment = {{"PATH", work_.path()}};
  const auto no_mpirun = work_.run(args(job(), {"--set", "runtime.transport=mpi"}));
  EXPECT_EQ(no_mpirun.exit_code, 3);
  EXPECT_THAT(no_mpirun.err, HasSubstr("mpirun"));
  EXPECT_FALSE(fs::exists(work_.run_dir()));
}

TEST_F(LocalRun, BadDataPassesTheTrainersCodeThrough) {
  const auto ended = work_.run(
      args(job(), {"--set", "train.dataset={kind: mnist, path: " + work_.path() + "/nowhere}"}));
  EXPECT_EQ(ended.exit_code, 2) << ended.err;
  EXPECT_THAT(ended.err, HasSubstr("dltrain"));
  EXPECT_TRUE(entries_of(work_.run_dir() + "/checkpoints").empty());
}

TEST_F(LocalRun, TheSameDirectoryGoesOnWhereItStopped) {
  ASSERT_EQ(work_.run(args(job(), {"--set", "train.epochs=1"})).exit_code, 0);
  // What `dllaunch help run-directory` says is not needed for that.
  for (const auto& name : entries_of(work_.run_dir())) {
    const RunDirFile* file = run_dir_file(name);
    ASSERT_NE(file, nullptr) << name;
    if (file->keep != Keep::to_continue) fs::remove_all(work_.run_dir() + "/" + name);
  }
  const auto again = work_.run(args(job(), {"--set", "train.epochs=3"}));
  ASSERT_EQ(again.exit_code, 0) << again.err;
  std::vector<int> epochs;
  for (const auto& event : events_of(work_.run_dir(), "epoch")) epochs.push_back(event["epoch"]);
  EXPECT_EQ(epochs, (std::vector<int>{1, 2, 3}));
  EXPECT_EQ(summary()["epochs"], 3);

  const auto changed = work_.run(args(job(), {"--set", "train.batch_size=8"}));
  EXPECT_EQ(changed.exit_code, 2);
  EXPECT_THAT(changed.err, HasSubstr("train.batch_size: 16 -> 8"));
}

/// The argument of the `next` line, which a user copies; empty: there is none.
std::string next_run_in(const std::string& summary) {
  constexpr std::string_view mark = "next        dllaunch run ";
  const auto at = summary.find(mark);
  if (at == std::string::npos) return "";
  const auto word = summary.substr(at + mark.size());
  return word.substr(0, word.find(' '));
}

TEST_F(LocalRun, ContinuesWithItsOwnFilesWhereverItIsTyped) {
  const auto job_file = work_.file("job.yaml",
                                   "name: steps\nresources: {ranks_per_node: 1, device: cpu}\n"
                                   "run: [sh, step.sh]\n");
  work_.file("step.sh", "pwd > where; echo $PWD >> where; cat data\n");
  const Workplace other;
  other.file("step.sh", "echo the other project\n");
  const auto failed = work_.run({"run", job_file, "--local"});
  EXPECT_EQ(failed.exit_code, 1) << failed.err;
  const auto name = next_run_in(failed.out);
  ASSERT_THAT(name, testing::MatchesRegex("steps-[-0-9a-z]+")) << failed.out;

  const auto again = work_.run_in(other.path(), {"run", name});
  EXPECT_EQ(again.exit_code, 1) << again.err;
  EXPECT_EQ(work_.text_of("where"), work_.path() + "\n" + work_.path() + "\n");
  EXPECT_THAT(again.err, HasSubstr(work_.path() + ", where it was submitted"));
  // What was typed is relative to the folder where it was typed.
  work_.file("data", "is there\n");
  fs::create_symlink(work_.path() + "/runs/" + name, other.path() + "/mine");
  fs::create_symlink(job_file, other.path() + "/same.yaml");
  const auto mended =
      work_.run_in(other.path(), {"run", "same.yaml", "--local", "--run-dir", "mine"});
  EXPECT_EQ(mended.exit_code, 0) << mended.err;
  EXPECT_THAT(mended.err, HasSubstr("is there"));

  const auto moved = work_.path() + "-moved";
  const auto run_dir = other.path() + "/run of work";
  fs::copy(work_.path() + "/runs/" + name, run_dir, fs::copy_options::recursive);
  fs::rename(work_.path(), moved);
  Workplace there(moved);
  const auto missing = there.run_in(other.path(), {"run", run_dir});
  EXPECT_EQ(missing.exit_code, 2) << missing.err;
  EXPECT_THAT(missing.err, HasSubstr(work_.path() + ", where it was submitted"));
  fs::rename(moved, work_.path());
}

TEST_F(LocalRun, TwoAtOnceInOneDirectoryAreRefused) {
  work_.start(args(command("sleep 300")));
  ASSERT_TRUE(rank_is_there(0));
  Workplace other;
  const auto refused = other.run(args(work_.path() + "/command.yaml"));
  EXPECT_EQ(refused.exit_code, 2);
  EXPECT_THAT(refused.err, HasSubstr("another dllaunch is running"));
  work_.signal(SIGTERM);
  work_.wait();
}

TEST_F(LocalRun, RanksAreBoundAsThePlanSays) {
  const auto ended = work_.run(
      args(command("echo threads $OMP_NUM_THREADS; grep -w Cpus_allowed_list /proc/self/status")));
  ASSERT_EQ(ended.exit_code, 0) << ended.err;
  const auto plan = Json::parse(work_.text_of("run/plan.json"));
  for (int rank = 0; rank < 2; ++rank) {
    const auto& planned = plan["binding"]["ranks"][static_cast<std::size_t>(rank)];
    const std::string log = log_of(rank);
    EXPECT_THAT(log, HasSubstr("Cpus_allowed_list:\t" + planned["cpus"].get<std::string>() + "\n"));
  }
  // Equal lines in one, however late one came.
  EXPECT_THAT(work_.run({"logs", work_.run_dir()}).out, HasSubstr("ranks 0-1: threads "));
}

TEST_F(LocalRun, MoreRanksThanCpusIsAWarning) {
  const auto ended = work_.run(args(command("echo here"), {"--set", "resources.ranks_per_node=5"}));
  EXPECT_EQ(ended.exit_code, 0) << ended.err;
  if (std::thread::hardware_concurrency() < 5) {
    EXPECT_THAT(ended.err, HasSubstr("warning"));
  }
  EXPECT_EQ(log_of(4), "here\n");
}

/// As some daemons and batch systems start programs.
TEST_F(LocalRun, WhoIgnoresTheEndOfChildrenGetsTheirExitCodes) {
  work_.before = {"bash", "-c", "trap '' CHLD; exec \"$@\"", "-"};
  EXPECT_EQ(work_.run(args(command("true"))).exit_code, 0);
  const auto failed =
      work_.run({"run", command("exit 7"), "--local", "--run-dir", work_.path() + "/other"});
  EXPECT_NE(failed.exit_code, 0);
  EXPECT_THAT(failed.out + failed.err, HasSubstr("exited with code 7"));
}

/// Read by two other users, of the directory's group and of another.
TEST_F(LocalRun, ASharedRunIsReadByItsGroupAlone) {
  if (geteuid() != 0) GTEST_SKIP() << "only root may be another user";
  const auto text = "share: group\n" + std::string(tiny_local_job);
  const auto ended = work_.run(args(work_.file("shared.yaml", text)));
  ASSERT_EQ(ended.exit_code, 0) << ended.err;
  // The others come as far as the run's directory.
  namespace fs = std::filesystem;
  const auto temporary = fs::temp_directory_path();
  for (fs::path above = work_.path(); above != temporary && above.has_relative_path();
       above = above.parent_path())
    fs::permissions(above, fs::perms::group_exec | fs::perms::others_exec, fs::perm_options::add);
  const auto can_read = [&](const std::string& file, const char* group) {
    const std::string path = work_.run_dir() + "/" + file;
    const std::string as = "setpriv --reuid 54321 --clear-groups --regid ";
    return std::system((as + group + " cat '" + path + "' > /dev/null 2>&1").c_str()) == 0;
  };
  std::vector<std::string> open = {"events.jsonl", "summary.json", "metrics.csv", "plan.json"};
  for (const auto& log : fs::directory_iterator(work_.run_dir() + "/out"))
    open.push_back("out/" + log.path().filename().string());
  for (const auto& file : open) {
    EXPECT_TRUE(can_read(file, "0")) << file;
    EXPECT_FALSE(can_read(file, "54321")) << file;
  }
}

TEST_F(LocalRun, DetachedItOutlivesItsCaller) {
  const auto ended = work_.run(args(job(), {"--detach"}));
  ASSERT_EQ(ended.exit_code, 0) << ended.err;
  EXPECT_THAT(ended.out, HasSubstr("run  " + work_.run_dir() + "\npid  "));
  ASSERT_TRUE(happens_within(60s, [&] { return fs::exists(work_.run_dir() + "/summary.json"); }));
  EXPECT_EQ(summary()["status"], "completed");
  EXPECT_THAT(work_.text_of("run/dllaunch.log"), HasSubstr("epoch 2/2"));
}

TEST_F(LocalRun, CancelledByAnotherItSavesFirst) {
  auto argv = args(job(), long_run_);
  argv.push_back("--detach");
  ASSERT_EQ(work_.run(argv).exit_code, 0);
  ASSERT_TRUE(happens_within(60s, [&] { return events_of(work_.run_dir(), "step").size() > 3; }));
  const auto cancelled = work_.run({"cancel", work_.run_dir()});
  EXPECT_EQ(cancelled.exit_code, 0) << cancelled.err;
  EXPECT_THAT(cancelled.err, HasSubstr("to save and stop the run"));
  EXPECT_THAT(cancelled.out, HasSubstr(work_.run_dir() + " cancelled\n  checkpoint  "));
  EXPECT_EQ(summary()["status"], "cancelled");
  expect_nothing_left();
  EXPECT_THAT(work_.run({"cancel", work_.run_dir()}).out,
              HasSubstr("has already ended: cancelled"));
}

TEST_F(LocalRun, KilledItTakesItsRanksAndTheirFoldersAlong) {
  work_.start(args(command("sleep 300")));
  ASSERT_TRUE(rank_is_there(1));
  const auto scratch = scratch_of(work_.run_dir());
  EXPECT_FALSE(scratch.empty()) << "this test looks in the wrong place";
  work_.signal(SIGKILL);
  work_.wait();
  EXPECT_TRUE(all_end(work_.run_dir()));
  for (const auto& folder : scratch)
    EXPECT_TRUE(happens_within(10s, [&] { return !fs::exists(folder); })) << folder;
}

}  // namespace
}  // namespace dllaunch
