#include "launcher/supervise/supervisor_parent.hpp"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include "tests/support/emulator.hpp"
#include "tests/support/rest.hpp"
#include "tests/support/temporary_folder.hpp"

namespace dllaunch {
namespace {

class SupervisorParent : public testing::Test {
 protected:
  /// In the child: the number of this incarnation.
  int live() const {
    std::ofstream(incarnations_, std::ios::app) << "x";
    return incarnations();
  }
  int incarnations() const {
    std::error_code error;
    const auto size = std::filesystem::file_size(incarnations_, error);
    return error ? 0 : static_cast<int>(size);
  }

  pid_t number_in(const std::string& name) const {
    pid_t number = 0;
    std::ifstream(folder_.path() + "/" + name) >> number;
    return number;
  }

  /// 'T': stopped, 'Z': has ended.
  static char state_of(pid_t process) {
    std::ifstream status("/proc/" + std::to_string(process) + "/status");
    for (std::string line; std::getline(status, line);)
      if (line.starts_with("State:")) return line[line.find_first_not_of(" \t", 6)];
    return '?';
  }

  const TemporaryFolder folder_;
  const std::string incarnations_ = folder_.path() + "/lives";
  const SupervisorSignals signals_{SIGUSR2};
};

TEST_F(SupervisorParent, ReturnsWhatItsChildReturns) {
  for (const int code : {0, 1, 93})
    EXPECT_EQ(run_under_parent(signals_, [code] { return code; }), code);
}

TEST_F(SupervisorParent, WhoIsKilledHasASuccessor) {
  const auto work = [this] {
    if (live() == 1) kill(getpid(), SIGKILL);
    return 7;
  };
  EXPECT_EQ(run_under_parent(signals_, work), 7);
  EXPECT_EQ(incarnations(), 2);
}

TEST_F(SupervisorParent, ButNotForEver) {
  const auto work = [this] {
    live();
    kill(getpid(), SIGKILL);
    return 0;
  };
  EXPECT_EQ(run_under_parent(signals_, work), 1);
  EXPECT_EQ(incarnations(), 3);
}

/// Before the next incarnation: it would meet them. What the script has started is not ours to end.
TEST_F(SupervisorParent, WhatAKilledOneHasLeftBehindIsEnded) {
  if (under_an_emulator()) GTEST_SKIP() << "what is left is not found under qemu-user";
  const pid_t other = fork();
  if (other == 0) {
    execl("/bin/sleep", "sleep", "60", nullptr);
    _exit(1);
  }
  const auto work = [this] {
    if (live() > 1) return kill(number_in("left"), 0) == 0 ? 3 : 5;
    setenv("DLLAUNCH_GENERATION", "1", 1);
    const pid_t left = fork();
    if (left == 0) {
      std::signal(SIGTERM, SIG_IGN);
      execl("/bin/sleep", "sleep", "60", nullptr);
      _exit(1);
    }
    std::ofstream(folder_.path() + "/left") << left << std::flush;
    if (!comes_to_rest(left)) return 4;  // its variables are those of its program
    kill(getpid(), SIGKILL);
    return 0;
  };
  EXPECT_EQ(run_under_parent(signals_, work), 5);
  EXPECT_EQ(kill(other, 0), 0);
  kill(other, SIGKILL);
  waitpid(other, nullptr, 0);
}

/// Slurm's signals come to the process that was the batch script.
TEST_F(SupervisorParent, HandsSignalsOn) {
  const pid_t supervisor_parent = getpid();
  const auto work = [&] {
    const SupervisorSignals own(SIGUSR2);
    kill(supervisor_parent, SIGUSR2);
    for (int i = 0; i < 500; ++i) {
      for (const int came : own.take())
        if (came == SIGUSR2) return 5;
      usleep(10'000);
    }
    return 1;
  };
  EXPECT_EQ(run_under_parent(signals_, work), 5);
}

TEST_F(SupervisorParent, WhoWasToldToEndIsNotReplaced) {
  const pid_t supervisor_parent = getpid();
  const auto work = [&] {
    live();
    kill(supervisor_parent, SIGTERM);
    usleep(300'000);
    kill(getpid(), SIGKILL);
    return 0;
  };
  EXPECT_EQ(run_under_parent(signals_, work), 1);
  EXPECT_EQ(incarnations(), 1);
}

/// The first incarnation is killed and leaves a process behind, which sends the parent `signal`
/// while that waits for its end.
class SupervisorParentThatCleansUp : public SupervisorParent {
 protected:
  void SetUp() override {
    if (under_an_emulator()) GTEST_SKIP() << "what is left is not found under qemu-user";
  }
  int is_killed(const std::string& signal) const {
    const std::string script = "cd '" + folder_.path() +
                               "'; : > runs; while kill -0 $0 2> /dev/null; do sleep " +
                               "0.02; done; kill -" + signal + " $1 && : > sent";
    const auto child = std::to_string(getpid());
    const auto parent = std::to_string(getppid());
    setenv("DLLAUNCH_GENERATION", "1", 1);
    if (fork() == 0) {
      execl("/bin/sh", "sh", "-c", script.c_str(), child.c_str(), parent.c_str(), nullptr);
      _exit(1);
    }
    while (!std::filesystem::exists(folder_.path() + "/runs")) usleep(10'000);
    kill(getpid(), SIGKILL);
    return 0;
  }
  /// It is not, where the machine takes longer than the parent's patience.
  bool sent() const { return std::filesystem::exists(folder_.path() + "/sent"); }
};

TEST_F(SupervisorParentThatCleansUp, WhoIsToldToEndMeanwhileIsNotReplaced) {
  const auto work = [this] { return live() == 1 ? is_killed("TERM") : 0; };
  const int code = run_under_parent(signals_, work);
  if (!sent()) GTEST_SKIP() << "the machine is too slow";
  EXPECT_EQ(code, 1);
  EXPECT_EQ(incarnations(), 1);
}

TEST_F(SupervisorParentThatCleansUp, TheNextGetsAWarningThatCameMeanwhile) {
  const auto work = [this] {
    if (live() == 1) return is_killed("USR2");
    const SupervisorSignals own(SIGUSR2);
    for (int i = 0; i < 2000 && sent(); ++i) {
      if (own.take() == std::vector<int>{SIGUSR2}) return 5;
      usleep(10'000);
    }
    return 1;
  };
  const int code = run_under_parent(signals_, work);
  if (!sent()) GTEST_SKIP() << "the machine is too slow";
  EXPECT_EQ(code, 5);
}

/// The parent is stopped meanwhile, so that it finds both together.
TEST_F(SupervisorParent, TheNextGetsAWarningThatCameWithAnEnd) {
  const auto work = [this] {
    if (live() > 1) {
      const SupervisorSignals own(SIGUSR2);
      for (int i = 0; i < 2000; ++i) {
        if (own.take() == std::vector<int>{SIGUSR2}) return 5;
        usleep(10'000);
      }
      return 1;
    }
    const pid_t child = getpid();
    const pid_t parent = getppid();
    if (fork() == 0) {
      kill(parent, SIGSTOP);
      while (state_of(parent) != 'T') usleep(1000);
      kill(child, SIGKILL);
      while (state_of(child) != 'Z') usleep(1000);
      kill(parent, SIGUSR2);
      kill(parent, SIGCONT);
      _exit(0);
    }
    while (true) pause();
  };
  const pid_t parent = fork();
  if (parent == 0) _exit(run_under_parent(signals_, work));
  int status = 0;
  ASSERT_EQ(waitpid(parent, &status, 0), parent);
  EXPECT_EQ(WEXITSTATUS(status), 5);
  EXPECT_EQ(incarnations(), 2);
}

}  // namespace
}  // namespace dllaunch
