#include "launcher/run/failure.hpp"

#include <gtest/gtest.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>

namespace dllaunch {
namespace {

// Captured from Open MPI 4.1.4 on Debian 12.
constexpr std::string_view killed_4 = R"(
--------------------------------------------------------------------------
Primary job  terminated normally, but 1 process returned
a non-zero exit code. Per user-direction, the job has been aborted.
--------------------------------------------------------------------------
--------------------------------------------------------------------------
mpirun noticed that process rank 1 with PID 4711 on node vm exited on signal 9 (Killed).
--------------------------------------------------------------------------
)";

constexpr std::string_view killed_5 = R"(
--------------------------------------------------------------------------
prterun noticed that process rank 1 with PID 4711 on node vm exited on
signal 9 (Killed).
--------------------------------------------------------------------------
)";

constexpr std::string_view exited_4 = R"(
mpirun detected that one or more processes exited with non-zero status, thus causing
the job to be terminated. The first process to do so was:

  Process name: [[27288,1],2]
  Exit code:    7
--------------------------------------------------------------------------
)";

constexpr std::string_view exited_5 = R"(
prterun detected that one or more processes exited with non-zero status,
thus causing the job to be terminated. The first process to do so was:

   Process name: [prterun-vm-1234@1,3] Exit code:    2
)";

constexpr std::string_view aborted_4 = R"(
MPI_ABORT was invoked on rank 1 in communicator MPI_COMM_WORLD
with errorcode 5.
)";

TEST(Failure, MpirunNamesTheRankAndTheSignal) {
  for (const auto text : {killed_4, killed_5}) {
    const auto dead = dead_rank_from_mpirun(text);
    ASSERT_TRUE(dead);
    EXPECT_EQ(describe(*dead), "rank 1 on vm was killed by signal 9 (SIGKILL)");
  }
}

TEST(Failure, MpirunNamesTheRankAndItsCode) {
  const auto four = dead_rank_from_mpirun(exited_4);
  ASSERT_TRUE(four);
  EXPECT_EQ(describe(*four), "rank 2 exited with code 7");
  const auto five = dead_rank_from_mpirun(exited_5);
  ASSERT_TRUE(five);
  EXPECT_EQ(describe(*five), "rank 3 exited with code 2");
}

TEST(Failure, SpawnNamesTheRank) {
  for (const auto& dead : {DeadRank{.rank = 0, .host = "n1", .signal = SIGKILL},
                           DeadRank{.rank = 17, .host = "n1.site.org", .exit_code = 7}}) {
    const auto read = dead_rank_from_spawn(
        "dllaunch: rank 1: planned CPUs 0, this node allows 1\n"
        "dllaunch: " +
        describe(dead) + "\n");
    ASSERT_TRUE(read);
    EXPECT_EQ(read->rank, dead.rank);
    EXPECT_EQ(describe(*read), describe(dead));
  }
  EXPECT_FALSE(dead_rank_from_spawn("rank 1 on n1 exited with code 7\n")) << "a rank's own words";
  EXPECT_FALSE(dead_rank_from_spawn("dllaunch: rank 1 on n1 ended\n"));
}

TEST(Failure, AnAbortIsAnEchoOfASignal) {
  const auto abort = dead_rank_from_mpirun(aborted_4);
  ASSERT_TRUE(abort);
  EXPECT_EQ(describe(*abort), "rank 1 exited with code 5");
  const auto both = dead_rank_from_mpirun(std::string(aborted_4) + std::string(killed_4));
  ASSERT_TRUE(both);
  EXPECT_EQ(both->signal, SIGKILL);
}

TEST(Failure, NothingIsMadeUp) {
  EXPECT_FALSE(dead_rank_from_mpirun(""));
  EXPECT_FALSE(dead_rank_from_mpirun("There are not enough slots available in the system"));
  EXPECT_FALSE(dead_rank_from_mpirun("mpirun noticed that process rank "));
  EXPECT_FALSE(dead_rank_from_srun("srun: error: Unable to allocate resources: Invalid feature"));
  EXPECT_FALSE(dead_rank_from_srun("srun: error: n1: task : Killed"));
}

TEST(Failure, SrunNamesTheFirstToDie) {
  const auto dead = dead_rank_from_srun(
      "srun: error: n1: task 0: Exited with exit code 5\n"
      "srun: launch/slurm: _step_signal: Terminating StepId=53.0\n"
      "srun: error: n2: task 1: Terminated\n");
  ASSERT_TRUE(dead);
  EXPECT_EQ(describe(*dead), "rank 0 on n1 exited with code 5");

  const auto killed =
      dead_rank_from_srun("srun: error: n2: task 1: Terminated\nsrun: error: n1: task 3: Killed\n");
  ASSERT_TRUE(killed);
  EXPECT_EQ(describe(*killed), "rank 3 on n1 was killed by signal 9 (SIGKILL)");

  const auto many =
      dead_rank_from_srun("srun: error: n[1-2]: tasks 4-7: Segmentation fault (core dumped)");
  ASSERT_TRUE(many);
  EXPECT_EQ(describe(*many), "ranks 4-7 on n[1-2] were killed by signal 11 (SIGSEGV)");

  const auto memory = dead_rank_from_srun("srun: error: n1: task 0: Out Of Memory");
  ASSERT_TRUE(memory);
  EXPECT_EQ(describe(*memory), "rank 0 on n1 was killed: out of memory");
}

std::string sample(const std::string& name) {
  const auto path = std::filesystem::path(DLLAUNCH_SOURCE_DIR) / "../shared/slurm-samples" / name;
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

TEST(Failure, CapturedOutputsOfARealSlurm) {
  if (sample("README.md").empty()) GTEST_SKIP() << "no captured outputs beside this checkout";
  const auto memory = dead_rank_from_srun(sample("oom-srun-step-cgroup.err"));
  ASSERT_TRUE(memory);
  EXPECT_TRUE(memory->out_of_memory);
  EXPECT_EQ(memory->host, "n1");
  const auto cancelled = dead_rank_from_srun(sample("cancelled-batch-with-step.err"));
  ASSERT_TRUE(cancelled);
  EXPECT_EQ(cancelled->signal, SIGTERM);
  EXPECT_FALSE(dead_rank_from_srun(sample("node-fail-power-off-step-node.err")));
  EXPECT_FALSE(dead_rank_from_srun(sample("timeout-batch.err")));
}

TEST(Failure, AnyTextIsSurvived) {
  std::mt19937 random(3);
  const std::vector<std::string> seeds = {std::string(killed_4), std::string(exited_5),
                                          std::string(aborted_4),
                                          "srun: error: n1: task 0: Exited with exit code 5\n"};
  for (int round = 0; round < 5000; ++round) {
    std::string text = seeds[static_cast<std::size_t>(round) % seeds.size()];
    text.resize(random() % text.size());
    if (!text.empty()) text[random() % text.size()] = static_cast<char>(random() % 256);
    dead_rank_from_mpirun(text);
    dead_rank_from_srun(text);
    log_excerpt(text, 5);
  }
}

/// As two nodes told it on 2026-11-22, after rank 1 was killed.
TEST(Failure, ARankThatWroteToADeadOneIsAnEcho) {
  const auto dead = dead_rank_from_srun(
      "srun: error: n2: task 3: Broken pipe\nsrun: error: n1: task 1: Killed\n");
  ASSERT_TRUE(dead);
  EXPECT_EQ(dead->rank, 1);
  EXPECT_EQ(dead->signal, SIGKILL);
  const auto alone = dead_rank_from_srun(
      "srun: error: n1: task 0: Terminated\nsrun: error: n2: task 3: Broken pipe\n");
  ASSERT_TRUE(alone);
  EXPECT_EQ(describe(*alone),
            "rank 3 on n2 was killed by signal 13 (SIGPIPE): it wrote to a process that had ended");
}

TEST(Failure, WhoWasKilledIsToldFromWhoExited) {
  const std::string exited = "srun: error: n1: task 0: Exited with exit code 70\n";
  const std::string echoes =
      "srun: error: n3: task 2: Aborted\n"
      "srun: error: n4: task 3: Terminated\n";
  EXPECT_FALSE(killed_rank_from_srun(exited + echoes));
  for (const char* reason : {"Killed", "Segmentation fault (core dumped)", "Out Of Memory"}) {
    const auto killed =
        killed_rank_from_srun(exited + echoes + "srun: error: n2: task 1: " + reason +
                              "\nsrun: error: n5: task 4: Killed\n");
    ASSERT_TRUE(killed) << reason;
    EXPECT_EQ(killed->rank, 1);
  }
}

TEST(Failure, ExcerptKeepsErrorsAndTheEnd) {
  std::string log = "begin\nValueError: no such file\n";
  for (int i = 0; i < 100; ++i) log += "line " + std::to_string(i) + "\n";
  const auto lines = log_excerpt(log, 4);
  EXPECT_EQ(lines, (std::vector<std::string>{"ValueError: no such file", "line 97", "line 98",
                                             "line 99"}));
  EXPECT_TRUE(log_excerpt("", 4).empty());
  EXPECT_EQ(log_excerpt("\n\n only\n\n", 4), (std::vector<std::string>{" only"}));
}

TEST(Failure, WhatIsQuotedDoesNothingToTheTerminal) {
  EXPECT_EQ(log_excerpt("\x1b[31mred\x1b[0m \x1b]0;title\a\xff\x07\n", 4),
            (std::vector<std::string>{"red \\xff\\x07"}));
  EXPECT_EQ(describe(DeadRank{.rank = 1, .host = "n\x1b[2J", .exit_code = 1}),
            "rank 1 on n\\x1b[2J exited with code 1");
}

TEST(Failure, OnlySomeCodesPass) {
  for (const int code : {0, 2, 3, 93}) EXPECT_EQ(exit_code_of_job(code), code);
  for (const int code : {1, 4, 7, 126, 127, 137, 139, 255}) EXPECT_EQ(exit_code_of_job(code), 1);
}

TEST(Failure, RanksThatTheRequestToSaveKilledAreNamed) {
  EXPECT_EQ(
      describe_unsaved({.rank = 0, .others = "0", .host = "n1", .signal = SIGUSR2}),
      "rank 0 was killed by USR2, which asks it to save: its program on n1 does not handle it");
  EXPECT_EQ(describe_unsaved({.rank = 0, .others = "0-1", .host = "n1", .signal = SIGHUP}),
            "ranks 0-1 were killed by HUP, which asks them to save: their program on n1 does not "
            "handle it");
  EXPECT_EQ(describe_unsaved({.signal = SIGUSR2}),
            "a rank was killed by USR2, which asks it to save: its program does not handle it");
}

TEST(Failure, SignalsByNameAndWords) {
  EXPECT_EQ(signal_name(SIGUSR2), "SIGUSR2");
  EXPECT_EQ(signal_name(64), "signal 64");
  EXPECT_EQ(signal_of_name("USR2"), SIGUSR2);
  EXPECT_EQ(signal_of_name("SIGUSR1"), SIGUSR1);
  EXPECT_EQ(signal_of_name("NOPE"), 0);
  EXPECT_EQ(signal_of_name(""), 0);
  EXPECT_EQ(signal_in_output("Killed"), SIGKILL);
  EXPECT_EQ(signal_in_output("Segmentation fault (core dumped)"), SIGSEGV);
  EXPECT_EQ(signal_in_output("User defined signal 1"), SIGUSR1);
  EXPECT_EQ(signal_in_output("Exited with exit code 1"), 0);
}

}  // namespace
}  // namespace dllaunch
