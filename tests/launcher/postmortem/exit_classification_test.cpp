// What srun and mpirun were seen to say when a job ended (Slurm 22.05, Open MPI 4.1), and what it
// means.
#include "launcher/postmortem/exit_classification.hpp"

#include <gtest/gtest.h>

#include <csignal>

namespace dllaunch {
namespace {

StarterExit training(int code, std::string end = "", std::string output = "") {
  return {
      .code = code, .output = std::move(output), .trains = true, .training_end = std::move(end)};
}
StarterExit command(int code, std::string output = "") {
  return {.code = code, .output = std::move(output)};
}

constexpr const char* node_failure =
    "srun: error: Node failure on n3\n"
    "srun: Job step aborted: Waiting up to 32 seconds for job step to finish.\n";

Cause cause(const StarterExit& end) {
  return classify_exit(end).cause;
}

TEST(ExitClassification, ZeroAloneIsNoSuccess) {
  EXPECT_EQ(cause(training(0, "completed")), Cause::completed);
  EXPECT_EQ(cause(training(0)), Cause::unproven);
  EXPECT_EQ(cause(training(0, "failed")), Cause::unproven);
  EXPECT_EQ(cause(command(0)), Cause::completed);
  EXPECT_EQ(cause(command(0, node_failure)), Cause::lost_node) << "seen with Slurm 22.05";
  EXPECT_EQ(cause(training(0, "", node_failure)), Cause::lost_node);
  EXPECT_EQ(classify_exit(command(0, node_failure)).detail, "n3");
}

/// Slurm 22.05, a folder of --output that a node does not have.
constexpr const char* launch_failure =
    "slurmstepd-n2: error: Could not open stdout file\n"
    "srun: error: task 2 launch failed: Slurmd could not connect IO\n"
    "srun: error: task 3 launch failed: Slurmd could not connect IO\n";

TEST(ExitClassification, ZeroOfAStarterThatStartedNotAllRanksIsAFailure) {
  EXPECT_EQ(launch_failure_in(launch_failure),
            "srun: error: task 2 launch failed: Slurmd could not connect IO");
  EXPECT_EQ(launch_failure_in("srun: error: n2: task 1: Killed\n"), "");
  EXPECT_EQ(first_slurm_error(std::string("rank 0: error: mine\n") + launch_failure),
            "slurmstepd-n2: error: Could not open stdout file");
  for (auto end : {command(0, launch_failure), command(143, launch_failure), training(0)}) {
    end.unbegun = "ranks 2-3 did not begin: ...";
    EXPECT_EQ(cause(end), Cause::failed);
    EXPECT_EQ(describe(classify_exit(end)), end.unbegun);
  }
  auto told = command(0, launch_failure);
  told.unbegun = "rank 1 did not begin";
  told.told_to_end = true;
  EXPECT_EQ(cause(told), Cause::cancelled) << "before they could begin";
}

TEST(ExitClassification, RanksThatWereLateAreNamedBeforeWhoGaveUpOnThem) {
  auto end = training(70, "", "srun: error: n1: task 0: Exited with exit code 70\n");
  end.late = "rank 1 on n2 held up the others for 12 s";
  const auto attempt = classify_exit(end);
  EXPECT_EQ(describe(attempt), end.late + "; rank 0 on n1 exited with code 70");
  EXPECT_EQ(attempt.dead.rank, -1) << "its node is not to blame";
  end.output = "srun: error: n2: task 1: Killed\n";
  EXPECT_EQ(classify_exit(end).dead.rank, 1);
}

/// What was proven before a node went is done.
TEST(ExitClassification, ATrainingThatIsCompleteIsComplete) {
  EXPECT_EQ(cause(training(0, "completed", node_failure)), Cause::completed);
  EXPECT_EQ(cause(training(1, "completed")), Cause::failed) << "a rank says it is not";
}

TEST(ExitClassification, TheRankThatDiedIsNamed) {
  const auto attempt = classify_exit(training(137, "", "srun: error: n2: task 1: Killed\n"));
  EXPECT_EQ(attempt.cause, Cause::failed);
  EXPECT_EQ(attempt.dead.rank, 1);
  EXPECT_EQ(attempt.dead.host, "n2");
  EXPECT_EQ(attempt.dead.signal, SIGKILL);
  EXPECT_EQ(describe(attempt), "rank 1 on n2 was killed by signal 9 (SIGKILL)");
  EXPECT_EQ(describe(classify_exit(command(5))), "the ranks exited with code 5");
}

/// srun may hear first of a trainer that lost it.
TEST(ExitClassification, ATrainersVictimIsNamedAndNotWhoMissedIt) {
  const std::string missed = "srun: error: n1: task 0: Exited with exit code 70\n";
  const std::string killed = "srun: error: n2: task 1: Killed\n";
  EXPECT_EQ(classify_exit(training(137, "", missed + killed)).dead.rank, 1);
  EXPECT_EQ(classify_exit(command(137, missed + killed)).dead.rank, 0)
      << "of a command Slurm may have killed the other, after KillWait";
  const std::string wrong = "srun: error: n1: task 0: Exited with exit code 2\n";
  EXPECT_EQ(classify_exit(training(137, "", wrong + killed)).dead.exit_code, 2);
  auto end = training(137, "", missed + killed);
  end.before_kill = missed;
  EXPECT_EQ(classify_exit(end).dead.exit_code, 70) << "the other was killed for want of it";
}

TEST(ExitClassification, WithoutAControllerNoRankIsStarted) {
  constexpr const char* away =
      "srun: error: Unable to confirm allocation for job 3: Unable to contact slurm controller "
      "(connect failure)\n";
  EXPECT_EQ(cause(command(1, away)), Cause::not_started);
  EXPECT_EQ(cause(training(1, "", away)), Cause::not_started);
  EXPECT_EQ(cause(command(1, "srun: error: Unable to contact slurm controller\n")), Cause::failed);
  EXPECT_EQ(cause(command(1,
                          "srun: error: Unable to create step for job 3: Requested node "
                          "configuration is not available\n")),
            Cause::failed);
}

/// Slurm has not missed it yet.
TEST(ExitClassification, ANodeThatDoesNotAnswerIsNoFaultOfTheRanks) {
  constexpr const char* gone =
      "srun: error: Task launch for StepId=86.1 failed on node n3: Communication connection "
      "failure\nsrun: error: Application launch failed: Communication connection failure\n"
      "srun: Job step aborted: Waiting up to 7 seconds for job step to finish.\n";
  const auto attempt = classify_exit(command(1, gone));
  EXPECT_EQ(attempt.cause, Cause::not_started);
  EXPECT_EQ(describe(attempt), "the ranks cannot be started: node n3 does not answer");
  EXPECT_EQ(cause(training(1, "", gone)), Cause::not_started);
  EXPECT_EQ(cause(command(1,
                          "srun: error: Task launch for StepId=86.1 failed on node n3: Job "
                          "credential expired\n")),
            Cause::failed);
}

TEST(ExitClassification, MemoryThatRanOutIsTold) {
  EXPECT_TRUE(
      classify_exit(command(137, "srun: error: n2: task 1: Out Of Memory\n")).dead.out_of_memory);
  EXPECT_TRUE(classify_exit(command(137,
                                    "slurmstepd-n2: error: Detected 1 oom-kill event(s)\n"
                                    "srun: error: n2: task 1: Killed\n"))
                  .dead.out_of_memory);
}

TEST(ExitClassification, SlurmSaysWhyItEndsAJob) {
  const auto said = [](const char* why) {
    return command(143, std::string("slurmstepd-n1: error: *** STEP 12.0 ON n1 CANCELLED AT "
                                    "2026-11-20T19:39:43 DUE TO ") +
                            why + " ***\n");
  };
  EXPECT_EQ(cause(said("TIME LIMIT")), Cause::time_limit);
  EXPECT_EQ(cause(said("PREEMPTION")), Cause::preempted);
  EXPECT_EQ(cause(said("JOB REQUEUE")), Cause::requeued);
  EXPECT_EQ(cause(said("NODE FAILURE, SEE SLURMCTLD LOG FOR DETAILS")), Cause::lost_node);
}

/// A command told to end may exit with 0 without having finished.
TEST(ExitClassification, AZeroThatSlurmOrAPersonAskedForIsNoSuccess) {
  const auto said = [](const char* why) {
    return command(0, std::string("slurmstepd-n1: error: *** STEP 12.0 ON n1 CANCELLED AT "
                                  "2026-11-20T19:39:43 DUE TO ") +
                          why + " ***\n");
  };
  EXPECT_EQ(cause(said("TIME LIMIT")), Cause::time_limit);
  EXPECT_EQ(cause(said("PREEMPTION")), Cause::preempted);
  EXPECT_EQ(cause(said("JOB REQUEUE")), Cause::requeued);
  auto told = command(0);
  told.told_to_end = true;
  EXPECT_EQ(cause(told), Cause::cancelled);
}

/// What ranks print may come the same way.
TEST(ExitClassification, WhoQuotesSlurmIsNotSlurm) {
  const std::string quoted =
      "2026-11-20 parsed: srun: error: Node failure on n3\n"
      "*** STEP 12.0 ON n1 CANCELLED AT 2026-11-20T19:39:43 DUE TO JOB REQUEUE ***\n"
      "0: slurmstepd: oom-kill";
  EXPECT_EQ(slurm_output(quoted), "");
  EXPECT_EQ(cause(command(0, quoted)), Cause::completed);
  EXPECT_EQ(cause(command(1, quoted)), Cause::failed);
  EXPECT_EQ(slurm_output("srun: a\nb\nslurmstepd-n1: c"), "srun: a\nslurmstepd-n1: c");
}

/// The same words stand behind every step that --kill-on-bad-exit ends.
TEST(ExitClassification, AStepThatWasCancelledAlone) {
  const std::string output =
      "slurmstepd-n1: error: *** STEP 12.0 ON n1 CANCELLED AT 2026-11-20T19:39:43 ***\n"
      "srun: error: n1: task 0: Exited with exit code 1\n";
  EXPECT_EQ(cause(command(1, output)), Cause::failed);
  auto told = command(143, output);
  told.told_to_end = true;
  EXPECT_EQ(cause(told), Cause::cancelled);
}

TEST(ExitClassification, WhoWasAskedToSaveHasNotFailed) {
  auto end = training(0, "cancelled");
  EXPECT_EQ(cause(end), Cause::cancelled) << "a user signalled the ranks";
  end.time_is_short = true;
  EXPECT_EQ(cause(end), Cause::time_limit);
  auto killed = training(137);
  killed.time_is_short = true;
  EXPECT_EQ(cause(killed), Cause::time_limit);
  auto own_error = training(1, "failed", "srun: error: n1: task 0: Exited with exit code 1\n");
  own_error.time_is_short = true;
  EXPECT_EQ(cause(own_error), Cause::failed);
  auto not_done = command(75);
  not_done.time_is_short = true;
  EXPECT_EQ(cause(not_done), Cause::time_limit);
  for (const int code : {2, 93}) {
    not_done.code = code;
    EXPECT_EQ(cause(not_done), Cause::failed) << code << " means the same at any time";
  }
  auto cancelled = training(0, "cancelled");
  cancelled.time_is_short = true;
  cancelled.told_to_end = true;
  EXPECT_EQ(cause(cancelled), Cause::cancelled) << "a person had the last word";
  auto done = command(0);
  done.time_is_short = true;
  EXPECT_EQ(cause(done), Cause::completed) << "0 means done";
}

TEST(ExitClassification, ARankThatTheRequestToSaveKilledIsNamed) {
  auto end = command(140, "srun: error: n1: task 0: User defined signal 2\n");
  end.save_signal = SIGUSR2;
  end.time_is_short = true;
  const std::string named =
      "rank 0 was killed by USR2, which asks it to save: its program on n1 does not handle it";
  EXPECT_EQ(describe(classify_exit(end)), named);
  EXPECT_EQ(classify_exit(end).dead.signal, SIGUSR2);
  EXPECT_FALSE(classify_exit(end).new_checkpoint);
  end.wrote_files = true;
  EXPECT_TRUE(classify_exit(end).new_checkpoint);
  auto cancelled = end;
  cancelled.told_to_end = true;
  EXPECT_EQ(describe(classify_exit(cancelled)), "asked to stop; " + named);
  auto not_asked = end;
  not_asked.save_signal = 0;
  EXPECT_EQ(classify_exit(not_asked).dead.signal, 0);
  auto by_memory = command(137, "srun: error: n1: task 0: Killed\n");
  by_memory.save_signal = SIGUSR2;
  by_memory.time_is_short = true;
  EXPECT_EQ(describe(classify_exit(by_memory)),
            "ended before its time limit; rank 0 on n1 was killed by signal 9 (SIGKILL)");
  EXPECT_EQ(classify_exit(by_memory).dead.signal, 0);
  auto has_saved = command(75, "srun: error: n1: task 0: Exited with exit code 75\n");
  has_saved.save_signal = SIGUSR2;
  has_saved.time_is_short = true;
  EXPECT_EQ(describe(classify_exit(has_saved)), "ended before its time limit");
}

/// Who is well may be silent for hours, but leaves when asked to save, or says something then.
TEST(ExitClassification, WhoIsSilentAndDoesNotHearHangs) {
  auto hung = command(143);
  hung.time_is_short = true;
  hung.seconds = 1000;
  hung.silent_s = 900;
  EXPECT_TRUE(classify_exit(hung).idle);
  auto says_something = hung;
  says_something.silent_s = 5;
  EXPECT_FALSE(classify_exit(says_something).idle);
  auto leaves = hung;
  leaves.code = 75;
  EXPECT_FALSE(classify_exit(leaves).idle);
  auto knows_no_signal = hung;
  knows_no_signal.code = 140;
  EXPECT_FALSE(classify_exit(knows_no_signal).idle);
  auto trains = hung;
  trains.trains = true;
  EXPECT_FALSE(classify_exit(trains).idle) << "its checkpoints tell";
  auto was_cancelled = hung;
  was_cancelled.told_to_end = true;
  EXPECT_FALSE(classify_exit(was_cancelled).idle);
}

TEST(ExitClassification, AnOlderCopyOfTheRunHasNoSay) {
  auto end = training(0, "completed");
  end.superseded = true;
  EXPECT_EQ(cause(end), Cause::superseded);
}

TEST(ExitClassification, AStallIsAStall) {
  auto end = training(137);
  end.stall = "no progress for 630 s";
  EXPECT_EQ(cause(end), Cause::stalled);
  EXPECT_EQ(describe(classify_exit(end)), "no progress for 630 s");
}

TEST(ExitClassification, AStartThatSlurmDelaysIsTold) {
  const std::string delayed =
      "srun: Job 17 step creation temporarily disabled, retrying (Requested nodes are busy)\n";
  EXPECT_EQ(delay_of_start(delayed), "Requested nodes are busy");
  EXPECT_EQ(delay_of_start(delayed + "srun: Step created for StepId=17.1\n"), "");
  EXPECT_EQ(delay_of_start("srun: Step created for job 17\n" + delayed +
                           "srun: Job 17 step creation still disabled, retrying (x)\n"),
            "x");
  EXPECT_EQ(delay_of_start("srun: Job step creation still disabled, retrying\n"),
            "no reason given");
  EXPECT_EQ(delay_of_start("srun: error: n1: task 0: Killed\n"), "");
}

TEST(ExitClassification, WhatTheSupervisorKilledIsNotTheCause) {
  auto end = training(137, "", "srun: error: n2: task 1: Killed\n");
  end.lost_nodes = "n3";
  EXPECT_EQ(describe(classify_exit(end)), "lost node n3");
  end.told_to_end = true;
  EXPECT_EQ(cause(end), Cause::cancelled);
}

}  // namespace
}  // namespace dllaunch
