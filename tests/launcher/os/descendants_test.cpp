#include "launcher/os/descendants.hpp"
#include "tests/support/emulator.hpp"
#include "tests/support/rest.hpp"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <string>
#include <thread>

namespace dllaunch {
namespace {

using namespace std::chrono_literals;

/// A shell below us; its end is the test's business.
pid_t start_shell(const char* script) {
  const pid_t pid = fork();
  if (pid == 0) {
    setenv("DESCENDANT", "yes", 1);
    execl("/bin/bash", "bash", "-c", script, nullptr);
    _exit(127);
  }
  return pid;
}

template <typename Condition>
bool within_a_minute(Condition condition) {
  const auto deadline = std::chrono::steady_clock::now() + 60s;
  while (!condition()) {
    if (std::chrono::steady_clock::now() > deadline) return false;
    std::this_thread::sleep_for(5ms);
  }
  return true;
}

TEST(Descendants, AreFoundWithTheirVariablesAndHandlers) {
  const pid_t shell = start_shell("trap : USR2; sleep 30 & wait");
  ASSERT_TRUE(within_a_minute([&] { return descendants_of(shell).size() == 1; }));
  // A fork of the shell has the shell's handlers until it is sleep.
  ASSERT_TRUE(comes_to_rest(descendants_of(shell)[0].pid));
  const auto below = descendants_of(getpid());
  EXPECT_TRUE(std::any_of(below.begin(), below.end(),
                          [&](const Descendant& one) { return one.pid == shell; }));
  EXPECT_EQ(variable_of(shell, "DESCENDANT"), "yes");
  EXPECT_FALSE(variable_of(shell, "DESCENDAN"));
  EXPECT_TRUE(catches(shell, SIGUSR2));
  EXPECT_FALSE(catches(shell, SIGUSR1));
  EXPECT_FALSE(catches(descendants_of(shell)[0].pid, SIGUSR2));
  end_descendants(2s);
  EXPECT_NE(kill(shell, 0), 0);
}

TEST(Descendants, WhatTheyDoWithASignalIsSeen) {
  const auto start = [](void (*prepare)()) {
    const pid_t pid = fork();
    if (pid == 0) {
      prepare();
      while (true) pause();
    }
    return pid;
  };
  const pid_t plain = start([] {});
  const pid_t ignoring = start([] { signal(SIGUSR2, SIG_IGN); });
  const pid_t waiting = start([] {
    sigset_t all;
    sigfillset(&all);
    sigprocmask(SIG_BLOCK, &all, nullptr);
  });
  const pid_t handling = start([] { signal(SIGUSR2, [](int) {}); });
  const pid_t passing_on = start([] {
    signal(SIGUSR2, [](int) {});
    prctl(PR_SET_NAME, "srun");
  });
  for (const pid_t pid : {plain, ignoring, waiting, handling, passing_on}) comes_to_rest(pid);
  EXPECT_FALSE(acts_on(plain, SIGUSR2));
  EXPECT_FALSE(acts_on(ignoring, SIGUSR2));
  EXPECT_TRUE(acts_on(waiting, SIGUSR2));
  EXPECT_TRUE(acts_on(handling, SIGUSR2));
  EXPECT_FALSE(acts_on(passing_on, SIGUSR2));
  EXPECT_TRUE(ignores(ignoring, SIGUSR2));
  EXPECT_FALSE(ignores(plain, SIGUSR2));
  EXPECT_FALSE(acts_on(-1, SIGUSR2)) << "none";
  end_descendants(0ms);
}

TEST(Descendants, OrphansAndTheStubbornAreEnded) {
  if (under_an_emulator()) GTEST_SKIP() << "what is left is not found under qemu-user";
  adopt_orphans();
  // The shell ends at once; its child is an orphan, ignores TERM and has a session of its own.
  const pid_t shell = start_shell("setsid bash -c 'trap \"\" TERM; while :; do sleep 1; done' &");
  ASSERT_TRUE(within_a_minute([&] {
    const auto below = descendants_of(getpid());
    return std::any_of(below.begin(), below.end(), [&](const Descendant& one) {
      return one.parent == getpid() && one.pid != shell && !one.zombie;
    });
  }));
  const auto began = std::chrono::steady_clock::now();
  EXPECT_GE(end_descendants(200ms), 1);
  EXPECT_LT(std::chrono::steady_clock::now() - began, 60s);
  EXPECT_TRUE(descendants_of(getpid()).empty());
  prctl(PR_SET_CHILD_SUBREAPER, 0);
}

TEST(Descendants, OneIsLeftAloneWithWhatIsBelowIt) {
  const pid_t kept = start_shell("sleep 30 & wait");
  const pid_t other = start_shell("sleep 30 & wait");
  ASSERT_TRUE(within_a_minute(
      [&] { return descendants_of(kept).size() == 1 && descendants_of(other).size() == 1; }));
  const pid_t below = descendants_of(kept)[0].pid;
  EXPECT_EQ(end_descendants(200ms, {kept}), 2);
  EXPECT_EQ(kill(kept, 0), 0);
  EXPECT_EQ(kill(below, 0), 0);
  EXPECT_NE(kill(other, 0), 0);
  EXPECT_EQ(end_descendants(200ms), 2);
}

TEST(Descendants, NothingToEndIsQuick) {
  const auto began = std::chrono::steady_clock::now();
  EXPECT_EQ(end_descendants(60s), 0);
  EXPECT_LT(std::chrono::steady_clock::now() - began, 30s);
}

TEST(Descendants, AThreadThatBlocksASignalIsSeen) {
  sigset_t one;
  sigset_t before;
  sigemptyset(&one);
  sigaddset(&one, SIGRTMIN + 13);
  const auto here = std::to_string(gettid());
  EXPECT_FALSE(threads_blocking(getpid(), SIGRTMIN + 13).at(here));
  pthread_sigmask(SIG_BLOCK, &one, &before);
  EXPECT_TRUE(threads_blocking(getpid(), SIGRTMIN + 13).at(here));
  EXPECT_FALSE(threads_blocking(getpid(), SIGUSR2).at(here));
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

TEST(Descendants, AProcessThatIsGoneHasNothing) {
  EXPECT_FALSE(variable_of(-1, "PATH"));
  EXPECT_FALSE(catches(-1, SIGUSR2));
  EXPECT_TRUE(threads_blocking(-1, SIGUSR2).empty());
}

}  // namespace
}  // namespace dllaunch
