#include "launcher/rank/left_processes.hpp"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <fstream>
#include <map>
#include <sstream>
#include <thread>

#include "launcher/os/descendants.hpp"
#include "launcher/os/descent_mark.hpp"
#include "tests/support/temporary_folder.hpp"

namespace dllaunch {
namespace {

using namespace std::chrono_literals;

EnvLookup with(const std::map<std::string, std::string>& variables) {
  return [variables](const std::string& name) -> std::optional<std::string> {
    const auto found = variables.find(name);
    return found == variables.end() ? std::nullopt : std::optional(found->second);
  };
}

StartMark mark_of_start(int token) {
  const auto job = std::to_string(getpid());  // marks are the machine's
  return *start_mark("/runs/a",
                     with({{"SLURM_JOB_ID", job}, {"DLLAUNCH_GENERATION", std::to_string(token)}}));
}

/// A marked process that ignores TERM.
pid_t start_stubborn(const StartMark& mark) {
  const pid_t pid = fork();
  if (pid != 0) return pid;
  mark_descent(mark.own);
  signal(SIGTERM, SIG_IGN);
  execl("/bin/sleep", "sleep", "300", nullptr);
  _exit(1);
}

template <typename Condition>
bool within_a_minute(Condition condition) {
  const auto deadline = std::chrono::steady_clock::now() + 60s;
  while (!condition() && std::chrono::steady_clock::now() < deadline)
    std::this_thread::sleep_for(5ms);
  return condition();
}

TEST(LeftProcesses, AMarkIsOfARunAJobAndAStart) {
  const auto mark = [](const std::string& dir, const std::string& job, const std::string& token) {
    return start_mark(dir, with({{"SLURM_JOB_ID", job}, {"DLLAUNCH_GENERATION", token}}));
  };
  const auto first = *mark("/runs/a", "7", "1");
  EXPECT_EQ(first.of_run + 1, first.own);
  EXPECT_EQ(mark("/runs/a", "7", "2")->of_run, first.of_run);
  EXPECT_NE(mark("/runs/b", "7", "1")->of_run, first.of_run);
  EXPECT_NE(mark("/runs/a", "8", "1")->of_run, first.of_run);
  EXPECT_GT(first.of_run, 1ull << 61) << "no limit that a person sets";
  EXPECT_FALSE(mark("", "7", "1"));
  EXPECT_FALSE(mark("/runs/a", "", "1"));
  EXPECT_FALSE(mark("/runs/a", "7", ""));
}

TEST(LeftProcesses, EarlierStartsAreEndedAndNoOther) {
  const pid_t earlier = start_stubborn(mark_of_start(1));
  const pid_t same = start_stubborn(mark_of_start(2));
  const pid_t later = start_stubborn(mark_of_start(3));
  const pid_t other = fork();
  if (other == 0) pause();
  ASSERT_TRUE(within_a_minute([&] {
    return name_of(earlier) == "sleep" && name_of(same) == "sleep" && name_of(later) == "sleep";
  }));

  EXPECT_EQ(end_earlier_starts(mark_of_start(2)),
            "ended what an earlier start left behind: 1 process: sleep (" +
                std::to_string(earlier) + ")");
  int status = 0;
  EXPECT_EQ(waitpid(earlier, &status, 0), earlier);
  EXPECT_EQ(end_earlier_starts(mark_of_start(2)), "");
  for (const pid_t pid : {same, later, other}) {
    EXPECT_EQ(waitpid(pid, &status, WNOHANG), 0) << "it runs";
    kill(pid, SIGKILL);
    waitpid(pid, &status, 0);
  }
}

/// The process between plays Slurm's daemon of a step, its child the first rank.
TEST(LeftProcesses, WhatAStartLeftIsEndedWhenItsStepHasEnded) {
  const TemporaryFolder folder;
  const auto log = folder.path() + "/rank.log";
  setenv("DLLAUNCH_RUN_DIR", "/runs/of-this-test", 1);
  const auto mark = mark_of_start(1);
  const pid_t step = fork();
  if (step == 0) {
    if (fork() == 0) {
      dup2(open(log.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0600), STDERR_FILENO);
      end_leftovers_after_step(mark, "n1");
      if (waitpid(-1, nullptr, WNOHANG) != -1) _exit(1);  // the program has no child
      start_stubborn(mark);
      _exit(0);
    }
    pause();
  }
  const auto left = [&] { return marked_processes(mark.own, mark.own); };
  ASSERT_TRUE(within_a_minute([&] { return left().size() == 1 && name_of(left()[0]) == "sleep"; }));
  const auto waiting = [] {
    auto pids = pids_here();
    std::erase_if(pids, [](pid_t pid) { return name_of(pid) != "dllaunch-end"; });
    return pids;
  };
  ASSERT_TRUE(within_a_minute([&] { return !waiting().empty(); }));
  for (const pid_t pid : waiting()) {
    EXPECT_FALSE(variable_of(pid, "DLLAUNCH_RUN_DIR")) << "or it would count as a rank";
    kill(pid, SIGTERM);  // as scancel does to all processes of a step
  }
  const auto name = "sleep (" + std::to_string(left().at(0)) + ")";
  kill(step, SIGKILL);
  waitpid(step, nullptr, 0);
  EXPECT_TRUE(within_a_minute([&] { return left().empty(); }));
  const auto text = [&] {
    std::ostringstream all;
    all << std::ifstream(log).rdbuf();
    return all.str();
  };
  EXPECT_TRUE(within_a_minute([&] { return !text().empty(); }));
  EXPECT_EQ(text(),
            "dllaunch: the ranks on n1 left behind, and it was ended: 1 process: " + name + "\n");
  unsetenv("DLLAUNCH_RUN_DIR");
}

/// Slurm's daemon of the step waits until all have closed its pipes.
TEST(LeftProcesses, TheProcessThatWaitsKeepsNoPipeOpen) {
  std::array<int, 2> ends{};
  ASSERT_EQ(pipe(ends.data()), 0);
  const pid_t step = fork();
  if (step == 0) {
    const pid_t rank = fork();
    if (rank == 0) {
      dup2(ends[1], STDERR_FILENO);
      end_leftovers_after_step(mark_of_start(1), "n1");
      _exit(0);
    }
    close(ends[1]);
    waitpid(rank, nullptr, 0);
    pause();
  }
  close(ends[1]);
  char none = 0;
  EXPECT_EQ(read(ends[0], &none, 1), 0);
  close(ends[0]);
  kill(step, SIGKILL);
  waitpid(step, nullptr, 0);
}

}  // namespace
}  // namespace dllaunch
