#include "launcher/os/ask_ranks.hpp"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <optional>
#include <string>

#include "launcher/os/descendants.hpp"
#include "tests/support/rest.hpp"

namespace dllaunch {
namespace {

using Ranks = std::vector<std::string>;

/// Ranks of a run that is ours alone.
class AskingRanks : public testing::Test {
 protected:
  ~AskingRanks() override { end_descendants(std::chrono::milliseconds(0)); }

  const std::string run_ = "/run/" + std::to_string(getpid());

  static std::vector<pid_t> living_below(pid_t pid) {
    std::vector<pid_t> living;
    for (const auto& one : descendants_of(pid))
      if (!one.zombie) living.push_back(one.pid);
    return living;
  }
  /// Returns when it has so many processes below it, and all of them sleep.
  pid_t start(const char* rank, const char* script, std::size_t below) const {
    const pid_t pid = fork();
    if (pid == 0) {
      setenv("DLLAUNCH_RUN_DIR", run_.c_str(), 1);
      setenv("RANK", rank, 1);
      execl("/bin/bash", "bash", "-c", script, nullptr);
      _exit(127);
    }
    while (variable_of(pid, "RANK") != rank || living_below(pid).size() != below) usleep(5000);
    EXPECT_TRUE(come_to_rest([pid] {
      auto all = living_below(pid);
      all.push_back(pid);
      return all;
    }));
    return pid;
  }
  AskRanks asking(pid_t starter = 0) const {
    return AskRanks({{"DLLAUNCH_RUN_DIR", run_}}, SIGUSR2, starter);
  }
  /// Its exit code, 128+N after a signal.
  static int code_of(pid_t pid) {
    int status = 0;
    waitpid(pid, &status, 0);
    return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
  }
};

TEST_F(AskingRanks, OnlyWhatHandlesTheSignalGetsIt) {
  // The shell and the pipe's end live on; the program has an environment without the marks.
  const pid_t rank = start("3",
                           "set -o pipefail; env -i bash -c 'trap \"exit 75\" USR2; while :; do "
                           "sleep 0.1; done' | cat; exit $?",
                           3);
  auto ranks = asking();
  EXPECT_EQ(ranks.look(), Ranks{"3"});
  EXPECT_TRUE(ranks.would_end_others());
  EXPECT_TRUE(ranks.without_handler().empty());
  EXPECT_EQ(ranks.look(), Ranks{}) << "asked once";
  EXPECT_EQ(code_of(rank), 75);
}

/// bash with an EXIT trap handles every signal, and ends of it.
TEST_F(AskingRanks, AShellThatCleansUpIsAskedLast) {
  const pid_t shell = start("0", "trap : EXIT; while :; do sleep 0.1; done", 1);
  auto ranks = asking();
  EXPECT_EQ(ranks.look(), Ranks{});
  EXPECT_TRUE(ranks.without_handler().contains("0"));
  EXPECT_EQ(ranks.look(/*last=*/true), Ranks{"0"});
  EXPECT_EQ(code_of(shell), 128 + SIGUSR2);
}

TEST_F(AskingRanks, OneIsAskedWhenItHasItsHandler) {
  const pid_t rank =
      start("0", "trap 'trap \"exit 75\" USR2' USR1; while :; do sleep 0.1; done", 1);
  auto ranks = asking();
  EXPECT_EQ(ranks.look(), Ranks{});
  EXPECT_TRUE(ranks.without_handler().contains("0"));
  kill(rank, SIGUSR1);
  while (ranks.look() != Ranks{"0"}) usleep(10'000);
  EXPECT_EQ(code_of(rank), 75);
}

TEST_F(AskingRanks, RanksThatIgnoreItOrAreOthersAreLeftAlone) {
  const pid_t starter = start("0", "exec sleep 300", 0);
  const pid_t ignores = start("1", "trap '' USR2; sleep 300 & wait", 1);
  auto ranks = asking(starter);
  EXPECT_EQ(ranks.look(), Ranks{});
  EXPECT_EQ(ranks.without_handler().size(), 1U);
  EXPECT_TRUE(ranks.without_handler().contains("1"));
  EXPECT_EQ(AskRanks({{"DLLAUNCH_RUN_DIR", run_}, {"RANK", "7"}}, SIGUSR2).look(), Ranks{});
  EXPECT_EQ(kill(starter, 0) + kill(ignores, 0), 0);
}

}  // namespace
}  // namespace dllaunch
