#include "launcher/supervise/supervisor_parent.hpp"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <thread>

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

}  // namespace
}  // namespace dllaunch
