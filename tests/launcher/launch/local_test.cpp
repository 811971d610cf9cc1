#include "launcher/launch/local.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <thread>

#include "launcher/os/descendants.hpp"
#include "launcher/os/posix_system.hpp"
#include "launcher/plan/plan.hpp"
#include "tests/support/emulator.hpp"
#include "tests/support/fake_system.hpp"
#include "tests/support/temporary_folder.hpp"

namespace dllaunch {
namespace {

using namespace std::chrono_literals;

/// A shell script in mpirun's place: what execute_local does is the same for any command.
class LocalTest : public testing::Test {
 protected:
  LocalTest() {
    std::filesystem::create_directories(run_.out());
    plan_.paths.run_dir = run_.path;
    plan_.signal = "USR2";
    plan_.grace_seconds = 10;
  }

  Outcome execute(const std::string& script) {
    plan_.start = start_command_of({"bash", "-c", script});
    Follower follower(system_, run_, {});
    auto outcome = execute_local(plan_, run_, follower, system_);
    EXPECT_TRUE(outcome) << outcome.error().what;
    return outcome ? *outcome : Outcome{};
  }

  /// Sends this process `signal` once the script has set its traps and made the file "ready".
  void signal_when_ready(int signal) {
    signaller_ = std::jthread([signal, ready = run_.path + "/ready"] {
      for (int i = 0; i < 6000 && !std::filesystem::exists(ready); ++i)
        std::this_thread::sleep_for(10ms);
      kill(getpid(), signal);
    });
  }

  void log(const std::string& name, const std::string& text) {
    std::ofstream(run_.out() + "/" + name) << text;
  }

  std::string text_of(const std::string& name) {
    std::ifstream file(run_.path + "/" + name);
    return {std::istreambuf_iterator<char>(file), {}};
  }

  TemporaryFolder folder_;
  RunDir run_{.path = folder_.path()};
  LaunchPlan plan_;
  PosixSystem system_{Console{.verbosity = -1}};
  std::jthread signaller_;
};

TEST_F(LocalTest, ACommandThatEndsWell) {
  plan_.environment = {{"GREETING", "hello"}};
  const auto outcome = execute("echo $GREETING $DLLAUNCH_RUN_DIR");
  EXPECT_EQ(outcome.status, RunStatus::completed);
  EXPECT_EQ(outcome.exit_code, 0);
  EXPECT_EQ(text_of("out/mpirun.log"), "hello " + run_.path + "\n");
}

TEST_F(LocalTest, ExitCodesAreMapped) {
  EXPECT_EQ(execute("exit 2").exit_code, 2);
  EXPECT_EQ(execute("exit 93").exit_code, 93);
  const auto seven = execute("echo 'cannot do it' >&2; exit 7");
  EXPECT_EQ(seven.exit_code, 1);
  EXPECT_EQ(seven.status, RunStatus::failed);
  EXPECT_EQ(seven.reason, "mpirun ended with code 7");
  EXPECT_EQ(seven.excerpt, (std::vector<std::string>{"cannot do it"}));
}

TEST_F(LocalTest, EachStartHasAHigherGeneration) {
  plan_.environment = {{"DLLAUNCH_GENERATION", "none of the job file's business"}};
  EXPECT_EQ(execute("echo $DLLAUNCH_GENERATION >>$DLLAUNCH_RUN_DIR/told").exit_code, 0);
  EXPECT_EQ(execute("echo $DLLAUNCH_GENERATION >>$DLLAUNCH_RUN_DIR/told").exit_code, 0);
  EXPECT_EQ(text_of("told"), "1\n2\n");
}

/// By whatever means: from another machine whose locks this one does not see.
TEST_F(LocalTest, WhoHasLostTheDirectorySaysSoWhateverTheRanksSaid) {
  for (const char* code : {"0", "1", "93"}) {
    const auto outcome = execute(
        "echo 'host n3' >$DLLAUNCH_RUN_DIR/.lease/$((DLLAUNCH_GENERATION + 1)); "
        "echo 'pid 7' >>$DLLAUNCH_RUN_DIR/.lease/$((DLLAUNCH_GENERATION + 1)); exit " +
        std::string(code));
    EXPECT_TRUE(outcome.taken_over);
    EXPECT_EQ(outcome.status, RunStatus::failed);
    EXPECT_EQ(outcome.exit_code, 93);
    EXPECT_THAT(outcome.reason,
                testing::HasSubstr("run directory was taken over by process 7 on n3"));
  }
  EXPECT_FALSE(execute("exit 93").taken_over);
}

TEST_F(LocalTest, WhatItLeavesBehindIsEnded) {
  execute("setsid sleep 300 & setsid bash -c 'trap \"\" TERM; sleep 300' & disown; exit 0");
  EXPECT_TRUE(descendants_of(getpid()).empty());
}

TEST_F(LocalTest, RanksThatCatchTheSignalGetItAndNoOther) {
  signal_when_ready(SIGINT);
  const auto outcome = execute(
      "RANK=0 bash -c 'trap \"echo saved >$DLLAUNCH_RUN_DIR/saved; exit 0\" USR2; "
      "trap \"echo term >$DLLAUNCH_RUN_DIR/term\" TERM; : >$DLLAUNCH_RUN_DIR/ready; "
      "while :; do sleep 0.05; done' & wait $!");
  EXPECT_EQ(outcome.exit_code, 130);
  EXPECT_EQ(outcome.status, RunStatus::cancelled);
  EXPECT_EQ(text_of("saved"), "saved\n");
  EXPECT_EQ(text_of("term"), "");
}

TEST_F(LocalTest, OthersGetTerm) {
  signal_when_ready(SIGTERM);
  const auto outcome = execute(
      "RANK=0 bash -c 'trap \"echo term >$DLLAUNCH_RUN_DIR/term; exit 0\" TERM; "
      ": >$DLLAUNCH_RUN_DIR/ready; while :; do sleep 0.05; done' & wait $!");
  EXPECT_EQ(outcome.exit_code, 143);
  EXPECT_EQ(text_of("term"), "term\n");
}

TEST_F(LocalTest, AfterTheGraceTheStubbornAreEnded) {
  if (under_an_emulator()) GTEST_SKIP() << "what is left is not found under qemu-user";
  plan_.grace_seconds = 1;
  signal_when_ready(SIGINT);
  const auto began = std::chrono::steady_clock::now();
  const auto outcome = execute(
      "RANK=0 bash -c 'trap : USR2 TERM; : >$DLLAUNCH_RUN_DIR/ready; "
      "while :; do sleep 0.05; done' & wait");
  EXPECT_EQ(outcome.exit_code, 130);
  EXPECT_LT(std::chrono::steady_clock::now() - began, 60s);
  EXPECT_TRUE(descendants_of(getpid()).empty());
}

TEST_F(LocalTest, FinishingInTheVeryMomentIsSuccess) {
  signal_when_ready(SIGINT);
  const auto outcome = execute(
      ": >$DLLAUNCH_RUN_DIR/ready; sleep 60; echo "
      "'{\"time\":1,\"event\":\"end\",\"status\":\"completed\"}' "
      ">$DLLAUNCH_RUN_DIR/events.jsonl; exit 0");
  // No rank was there to ask, so TERM ended the shell: it did not finish.
  EXPECT_EQ(outcome.exit_code, 130);
}

TEST_F(LocalTest, SetupRunsBeforeInTheSameShell) {
  plan_.setup = "export FROM_SETUP='a b'";
  EXPECT_EQ(execute("test \"$FROM_SETUP\" = 'a b'").exit_code, 0);
  plan_.setup = "false";
  EXPECT_NE(execute("true").exit_code, 0);
  plan_.setup = "";
  plan_.activate = "/no/such/prefix";
  EXPECT_EQ(execute("true").exit_code, 3);
}

TEST_F(LocalTest, AVenvIsActivated) {
  std::filesystem::create_directories(folder_.path() + "/venv/bin");
  std::ofstream(folder_.path() + "/venv/bin/activate") << "export VIRTUAL_ENV=here\n";
  plan_.activate = folder_.path() + "/venv";
  EXPECT_EQ(execute("test \"$VIRTUAL_ENV\" = here").exit_code, 0);
}

TEST_F(LocalTest, ExplainsTheRankThatDied) {
  log("rank-0001-vm.log", "its last words\n");
  const auto outcome = explain_local(
      137, run_,
      {run_.out() + "/mpirun.log",
       "mpirun noticed that process rank 1 with PID 12 on node vm exited on signal 9 (Killed).\n"});
  EXPECT_EQ(outcome.exit_code, 1);
  EXPECT_EQ(outcome.reason, "rank 1 on vm was killed by signal 9 (SIGKILL)");
  EXPECT_EQ(outcome.excerpt, (std::vector<std::string>{"its last words"}));
}

TEST_F(LocalTest, ExplainsWithTheFirstErrorAndWhatToChange) {
  log("rank-0000-vm.log", "RuntimeError: Connection reset by peer\n");
  log("rank-0001-vm.log", "ModuleNotFoundError: No module named 'x'\n");
  const auto outcome =
      explain_local(1, run_, {"", "  Process name: [[32323,1],0]\n  Exit code:    1\n"});
  EXPECT_EQ(outcome.reason, "rank 0 on vm exited with code 1");
  EXPECT_EQ(outcome.first_error, "rank 1 on vm: ModuleNotFoundError: No module named 'x'");
  EXPECT_NE(outcome.advice.find("environment.activate"), std::string::npos);
  EXPECT_EQ(outcome.log, run_.out() + "/rank-0001-vm.log");
}

TEST_F(LocalTest, ExplainsWhatSpawnSays) {
  const auto named = explain_local(7, run_, {"", "dllaunch: rank 1 on vm exited with code 7\n"});
  EXPECT_EQ(named.reason, "rank 1 on vm exited with code 7");
  const auto other = explain_local(3, run_, {run_.out() + "/spawn.log", "dllaunch: no memory\n"});
  EXPECT_EQ(other.reason, "spawn ended with code 3");
}

TEST_F(LocalTest, ExplainsWithoutMpirunsWords) {
  log("rank-0000-vm.log", "fine\n");
  log("rank-0001-vm.log", "dltrain: error: /data: no such folder\n");
  const auto outcome = explain_local(2, run_, {});
  EXPECT_EQ(outcome.exit_code, 2);
  EXPECT_EQ(outcome.reason, "a rank exited with code 2");
  EXPECT_EQ(outcome.log, run_.out() + "/rank-0001-vm.log");
}

TEST(CheckLocal, AsksForMpirunAndTheCommandBeforeAnything) {
  FakeSystem system;
  LaunchPlan plan;
  plan.start = {.starter = "mpirun", .options = {"-n", "2"}};
  plan.start.program = {"./train"};
  EXPECT_EQ(check_local(plan, system).error().kind, ErrorKind::unavailable);
  system.programs = {"mpirun"};
  EXPECT_EQ(check_local(plan, system).error().kind, ErrorKind::bad_request);
  system.programs = {"mpirun", "./train"};
  EXPECT_TRUE(check_local(plan, system));
  system.programs = {};
  plan.modules = {"openmpi"};
  EXPECT_TRUE(check_local(plan, system));
}

TEST(CheckLocal, AModuleThatCannotBeLoadedIsSaidBeforeAnythingStarts) {
  FakeSystem system;
  system.programs = {"mpirun"};
  LaunchPlan plan;
  plan.start = {.starter = "mpirun", .options = {"-n", "2"}};
  plan.modules = {"cuda/12.4"};
  system.respond = [](const auto&) { return CommandOutput{77, "", ""}; };
  const auto no_command = check_local(plan, system);
  ASSERT_FALSE(no_command);
  EXPECT_EQ(no_command.error().kind, ErrorKind::unavailable);
  EXPECT_EQ(no_command.error().what,
            "environment.modules: this machine has no `module` command [modules]");
  system.respond = [](const auto&) { return CommandOutput{0, "missing cuda/12.4\ndone\n", ""}; };
  const auto no_module = check_local(plan, system);
  ASSERT_FALSE(no_module);
  EXPECT_EQ(no_module.error().what,
            "environment.modules: cuda/12.4 cannot be loaded here [modules]");
  system.respond = [](const auto&) { return CommandOutput{0, "done\n", ""}; };
  EXPECT_TRUE(check_local(plan, system));
}

}  // namespace
}  // namespace dllaunch
