// The options of `logs` and `status` that choose and repeat, on runs that are on the disk.
#include <gmock/gmock.h>

#include <filesystem>
#include <fstream>
#include <optional>
#include <vector>

#include "launcher/cli/command_line.hpp"
#include "launcher/run/run_dir.hpp"
#include "launcher/slurm/scontrol_parser.hpp"
#include "tests/launcher/stored_runs.hpp"

namespace dllaunch {
namespace {

using testing::HasSubstr;

Result<int> call(System& system, const std::vector<std::string>& args) {
  auto parsed =
      parse_command_line(command_groups(), args, [](const std::string&) { return false; });
  if (!parsed) return std::move(parsed).error();
  return std::get<Invocation>(*parsed).body(system);
}

class FollowCommands : public testing::Test {
 protected:
  std::string logs(const std::string& run, const std::vector<std::string>& options) {
    std::vector<std::string> args = {"logs", run};
    args.insert(args.end(), options.begin(), options.end());
    place_.system.printed.clear();
    const auto code = call(place_.system, args);
    return code ? place_.system.printed : code.error().what;
  }

  RunPlace place_;
};

TEST_F(FollowCommands, LogsOfSomeLines) {
  const auto run = place_.store({.folder = "r", .status = "completed"});
  place_.append(run, "out/rank-0001-vm.log",
                "2001-01-01T00:00:00Z loss 0.5\nepoch 1\n2037-01-01T00:00:00Z loss nan\nepoch 2\n");
  EXPECT_EQ(logs(run, {"--grep", "loss (nan|inf)"}), "[vm:1] 2037-01-01T00:00:00Z loss nan\n");
  EXPECT_EQ(logs(run, {"--rank", "1", "--grep", "^epoch"}), "epoch 1\nepoch 2\n");
  EXPECT_EQ(logs(run, {"--rank", "1", "--since", "1h"}),
            "2037-01-01T00:00:00Z loss nan\nepoch 2\n");
  EXPECT_EQ(logs(run, {"--since", "2037-06-01"}), "");
  EXPECT_EQ(logs(run, {"--since", "soon"}), "--since: 'soon' is not a time");
  EXPECT_THAT(logs(run, {"--grep", "("}), HasSubstr("--grep: '(' is not a regular expression"));
}

/// The run dies once its state has been seen.
class DyingRun : public DiskSystem {
 public:
  explicit DyingRun(const std::string& path) : lock_(*RunLock::take({.path = path})) {}

  void print(std::string_view text) override {
    DiskSystem::print(text);
    lock_.reset();
  }

 private:
  std::optional<RunLock> lock_;
};

TEST_F(FollowCommands, LogsOfTheLastLines) {
  const auto run = place_.store({.folder = "r", .status = "completed"});
  place_.append(run, "out/rank-0000-vm.log", "loss 9\nloss 8\nepoch 1\nloss 7\nhalf");
  place_.append(run, "out/rank-0001-vm.log",
                "2001-01-01T00:00:00Z old\n2037-01-01T00:00:00Z new\n");
  EXPECT_EQ(logs(run, {"--rank", "0", "-n", "2"}), "loss 7\nhalf\n");
  EXPECT_EQ(logs(run, {"--rank", "0", "--tail", "2", "--grep", "loss"}), "loss 8\nloss 7\n");
  EXPECT_EQ(logs(run, {"--rank", "1", "--tail", "5", "--since", "1h"}),
            "2037-01-01T00:00:00Z new\n");
  EXPECT_EQ(logs(run, {"-n", "1"}), "[vm:0] half\n");
  EXPECT_EQ(logs(run, {"-n", "0"}), "");
  EXPECT_EQ(place_.system.logged, "");
  EXPECT_THAT(logs(run, {"-n", "-1"}), HasSubstr("--tail"));
}

TEST_F(FollowCommands, OfAnArrayTheLastLinesOfEachTask) {
  const auto run = place_.store({.folder = "r", .job_id = "7", .array = "0-1"});
  for (const char* task : {"task-0", "task-1"}) {
    std::filesystem::create_directories(run + "/" + task + "/out");
    place_.append(run, std::string(task) + "/out/rank-0000-n1.log", "one\ntwo\n");
  }
  EXPECT_EQ(logs(run, {"-n", "1"}), "task 0: [n1:0] two\ntask 1: [n1:0] two\n");
}

/// A run that ends once its last lines were shown: what it writes then follows them.
TEST_F(FollowCommands, FollowsAfterTheLastLines) {
  const auto run = place_.store({.folder = "r"});
  place_.append(run, "out/rank-0000-vm.log", "one\ntwo\n");
  class Writing : public DyingRun {
   public:
    using DyingRun::DyingRun;
    void print(std::string_view text) override {
      if (printed.empty()) std::ofstream(log, std::ios::app) << "three\n";
      DyingRun::print(text);
    }
    std::string log;
  } system(run);
  system.log = run + "/out/rank-0000-vm.log";
  ASSERT_TRUE(call(system, {"logs", "-fn", "1", "--rank", "0", run}));
  EXPECT_EQ(system.printed, "two\nthree\n");
}

TEST_F(FollowCommands, WithoutARunTheNewestIsReadAndNamed) {
  EXPECT_EQ(logs("", {}), "there is no run yet");
  const auto old = place_.store({.folder = "runs/old", .status = "completed"});
  const auto run = place_.store({.folder = "runs/new", .status = "completed"});
  place_.append(run, "out/rank-0000-vm.log", "hello\n");
  for (const char* verb : {"logs", "status", "report"}) {
    place_.system.printed.clear();
    place_.system.logged.clear();
    ASSERT_TRUE(call(place_.system, {verb}));
    EXPECT_EQ(place_.system.logged, "dllaunch: run new (the newest)\n");
    EXPECT_EQ(place_.system.printed.find("old"), std::string::npos);
    EXPECT_THAT(place_.system.printed, HasSubstr(verb == std::string("logs") ? "hello" : "new"));
  }
  place_.system.terminal.verbosity = -1;
  place_.system.logged.clear();
  ASSERT_TRUE(call(place_.system, {"logs"}));
  EXPECT_EQ(place_.system.logged, "");
}

TEST_F(FollowCommands, CancelNeedsARunAndNamesTheNewest) {
  const auto error = [&] {
    const auto code = call(place_.system, {"cancel"});
    return code ? "no error" : code.error().what;
  };
  place_.store({.folder = "over", .status = "completed"});
  EXPECT_EQ(error(), "RUN is missing, and none of your runs is queued or running");
  std::vector<RunLock> locks;
  const auto start = [&](const std::string& folder) {
    locks.push_back(*RunLock::take({.path = place_.store({.folder = folder})}));
  };
  start("a");
  start("b");
  EXPECT_EQ(error(), "RUN is missing; queued or running: b, a");
  start("c");
  start("d");
  EXPECT_EQ(error(), "RUN is missing; queued or running: d, c, b and 1 more");
}

TEST_F(FollowCommands, ARunInTheJobFilesPlaceContinues) {
  const auto run = place_.store({.folder = "cnn-20261121-101500-bbbb"});
  for (const auto& word : {std::string("cnn"), run}) {
    const auto code = call(place_.system, {"run", word});
    ASSERT_FALSE(code) << "the stored run has no job file";
    EXPECT_THAT(code.error().what, HasSubstr(run + "/job.yaml"));
    EXPECT_THAT(place_.system.logged, HasSubstr("dllaunch: continues run " + run + "\n"));
    EXPECT_EQ(call(place_.system, {"run", word, "--run-dir", run}).error().what,
              word + " is a run, which has its directory already");
  }
  EXPECT_EQ(call(place_.system, {"run", "cnm.yaml"}).error().hint, "give the path of a job file");
}

TEST_F(FollowCommands, ARunsNameIsNoNewRunDirectory) {
  place_.store({.folder = "cnn-20261121-101500-bbbb"});
  const auto code = call(place_.system, {"run", "job.yaml", "--run-dir", "cnn"});
  ASSERT_FALSE(code);
  EXPECT_EQ(code.error().what, "--run-dir cnn: there is no such directory, but a run of that name");
  EXPECT_EQ(code.error().hint, "dllaunch run cnn continues it; --run-dir ./cnn is a new directory");
}

TEST_F(FollowCommands, LogsOfARunWithoutAnySayWhy) {
  const auto run = place_.store({.folder = "r"});
  place_.append(run, "summary.json",
                R"({"status":"failed","reason":"mpirun did not start","advice":"look"})");
  place_.append(run, "out/mpirun.log", "mpirun: no such host n9\n");
  EXPECT_EQ(logs(run, {}), "");
  EXPECT_EQ(place_.system.logged,
            "dllaunch: no rank has written anything; the run is failed\n"
            "dllaunch: mpirun did not start\n  try: look\n  " +
                run + "/out/mpirun.log:\n    | mpirun: no such host n9\n");
  place_.system.logged.clear();
  const auto waits = place_.store({.folder = "s", .job_id = "7"});
  place_.system.answers["squeue --noheader --format=" + std::string(queue_format) + " --jobs=7"] = {
      0, "7|PENDING|N/A|0:00||Resources|(null)|sleepy|/x\n", ""};
  EXPECT_EQ(logs(waits, {"--rank", "3"}), "");
  EXPECT_THAT(place_.system.logged,
              testing::StartsWith("dllaunch: rank 3 has written nothing; the run is pending: "));
}

TEST_F(FollowCommands, StatusUntilTheRunEnds) {
  const auto run = place_.store({.folder = "r"});
  DyingRun system(run);
  const auto code = call(system, {"status", "--watch", run});
  ASSERT_TRUE(code) << code.error().what;
  EXPECT_EQ(*code, 0);
  const auto first = system.printed.find("sleepy: running");
  const auto second = system.printed.find("\n\nsleepy: died");
  EXPECT_EQ(first, 0u) << system.printed;
  EXPECT_NE(second, std::string::npos) << system.printed;
  EXPECT_EQ(system.printed.find('\033'), std::string::npos) << "not a terminal";
}

}  // namespace
}  // namespace dllaunch
