#include "launcher/postmortem/slurm_outcome.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "launcher/run/journal.hpp"
#include "tests/support/temporary_folder.hpp"

namespace dllaunch {
namespace {

class SlurmOutcomeTest : public testing::Test {
 protected:
  Outcome of(const std::string& state, int code = 0, int signal = 0, const std::string& log = "") {
    SlurmJob job;
    job.id = "7";
    job.state = state;
    job.exit_code = code;
    job.signal = signal;
    return explain_slurm(plan_, run_, job, totals_, log);
  }

  TemporaryFolder folder_;
  RunDir run_{.path = folder_.path()};
  RunOutline plan_;
  RunTotals totals_;
};

TEST_F(SlurmOutcomeTest, EveryEndHasAStatusASentenceAndACode) {
  const std::vector<std::pair<std::string, RunStatus>> ends = {
      {"TIMEOUT", RunStatus::timeout},
      {"DEADLINE", RunStatus::timeout},
      {"OUT_OF_MEMORY", RunStatus::out_of_memory},
      {"NODE_FAIL", RunStatus::node_fail},
      {"BOOT_FAIL", RunStatus::node_fail},
      {"PREEMPTED", RunStatus::preempted},
      {"CANCELLED", RunStatus::cancelled},
      {"FAILED", RunStatus::failed}};
  for (const auto& [state, status] : ends) {
    const auto outcome = of(state, state == "FAILED" ? 7 : 0);
    EXPECT_EQ(outcome.status, status) << state;
    EXPECT_EQ(outcome.exit_code, 1) << state;
    EXPECT_EQ(outcome.reason.rfind("job 7 ", 0), 0u) << outcome.reason;
  }
  EXPECT_EQ(of("COMPLETED").status, RunStatus::completed);
  EXPECT_EQ(of("COMPLETED").exit_code, 0);
}

TEST_F(SlurmOutcomeTest, AComponentThatFailedBesideIsTold) {
  const auto decide = [this](const std::string& job, const std::string& beside) {
    const JournalDecision end{.job = job, .status = RunStatus::completed, .beside = beside};
    ASSERT_TRUE(append_to_journal(run_, line_of(end, std::nullopt)));
  };
  decide("6", "component loader failed: of an earlier job");
  EXPECT_EQ(of("COMPLETED").reason, "");
  decide("7", "");
  EXPECT_EQ(of("COMPLETED").reason, "");
  decide("7", "component loader failed: rank 0 on n3 exited with code 7");
  for (const char* state : {"COMPLETED", "OUT_OF_MEMORY"}) {
    const auto outcome = of(state);
    EXPECT_EQ(outcome.status, RunStatus::completed);
    EXPECT_EQ(outcome.exit_code, 0);
    EXPECT_EQ(outcome.reason,
              "job 7 has completed, but component loader failed: rank 0 on n3 exited with code 7");
  }
}

/// An attempt from `time` on that the supervisor ended, and a log with an error of it.
void end_attempt(const RunDir& run, double time, Cause cause, const std::string& why) {
  const JournalAttempt begun{.time = time, .job = "7"};
  const Attempt ended{.job = "7", .cause = cause, .detail = "no progress for 15 s"};
  const JournalDecision end{.time = time + 20, .job = "7", .reason = why};
  for (const auto& line :
       {line_of(begun), line_of(begun, ended, time + 20), line_of(end, std::nullopt)})
    ASSERT_TRUE(append_to_journal(run, line));
  std::filesystem::create_directories(run.out());
  std::ofstream(run.out() + "/rank-0000-n1.log") << "RuntimeError: a peer is gone\n";
}

void keep_stacks_at(const RunDir& run, double time, const char* kind = "hang") {
  std::filesystem::create_directories(run.path + "/autopsy");
  const std::string path = run.path + "/autopsy/20261127-075900";
  const Json document = {{"time", time}, {"kind", kind}, {"sentence", "rank 2 is in fetch"}};
  std::ofstream(path + ".json") << document.dump();
  std::ofstream(path + ".txt") << "tree";
}

TEST_F(SlurmOutcomeTest, OfAStallTheStacksOfItsAttemptAreTold) {
  end_attempt(run_, 100, Cause::stalled, "no progress");
  keep_stacks_at(run_, 115);
  auto outcome = of("FAILED", 1);
  EXPECT_EQ(outcome.first_error, "rank 2 is in fetch") << "whatever a log says";
  EXPECT_NE(outcome.advice.find("autopsy/20261127-075900.txt has"), std::string::npos);

  keep_stacks_at(run_, 116, "time_limit");
  EXPECT_EQ(of("FAILED", 1).first_error, "rank 0 on n1: RuntimeError: a peer is gone")
      << "the stacks are of ranks that may have been well";
  keep_stacks_at(run_, 115);

  end_attempt(run_, 200, Cause::stalled, "no progress");
  EXPECT_EQ(of("FAILED", 1).first_error, "rank 0 on n1: RuntimeError: a peer is gone")
      << "the stacks are of an earlier attempt";
}

TEST_F(SlurmOutcomeTest, OfATrainingThatGaveUpTheStacksAreTold) {
  end_attempt(run_, 100, Cause::failed, "rank 0 exited with code 1");
  totals_.take(StallEvent{.time = 117, .state = "gave up", .line = "stall: rank 2; gave up"});
  EXPECT_EQ(of("FAILED", 1).first_error, "stall: rank 2; gave up");
  keep_stacks_at(run_, 115, "stall");
  const auto outcome = of("FAILED", 1);
  EXPECT_EQ(outcome.first_error, "rank 2 is in fetch");
  EXPECT_NE(outcome.advice.find("autopsy/20261127-075900.txt has"), std::string::npos);
}

TEST_F(SlurmOutcomeTest, TheStallOfAnEarlierAttemptIsNotTold) {
  end_attempt(run_, 100, Cause::failed, "rank 0 exited with code 1");
  totals_.take(StallEvent{.time = 117, .state = "gave up", .line = "stall: rank 2; gave up"});
  keep_stacks_at(run_, 115, "stall");
  end_attempt(run_, 200, Cause::failed, "rank 0 exited with code 1");
  EXPECT_EQ(of("FAILED", 1).first_error, "rank 0 on n1: RuntimeError: a peer is gone");
}

TEST_F(SlurmOutcomeTest, OfAComponentThatStalledTheStacksAreTold) {
  plan_.components = {{.name = "loader"}, {.name = "trainer", .ends_job = true}};
  const RunDir own{.path = component_dir(folder_.path(), "loader")};
  std::filesystem::create_directories(own.path);
  end_attempt(own, 100, Cause::stalled, "no progress");
  keep_stacks_at(own, 115);
  end_attempt(run_, 100, Cause::failed, "component loader: no progress");
  EXPECT_EQ(of("FAILED", 1).first_error, "rank 2 is in fetch");
}

/// The whole run has no events.
TEST_F(SlurmOutcomeTest, OfAComponentThatGaveUpTheStacksAreTold) {
  plan_.components = {{.name = "loader"}, {.name = "trainer", .ends_job = true}};
  end_attempt(run_, 100, Cause::failed, "component trainer: rank 0 exited with code 1");
  for (const char* name : {"loader", "trainer"}) {
    const RunDir own{.path = component_dir(folder_.path(), name)};
    std::filesystem::create_directories(own.path);
    end_attempt(own, 100, Cause::failed, "rank 0 exited with code 1");
  }
  const RunDir loader{.path = component_dir(folder_.path(), "loader")};
  const RunDir trainer{.path = component_dir(folder_.path(), "trainer")};
  keep_stacks_at(trainer, 115, "stall");
  const auto gives_up =
      [](const RunDir& run) {
        std::ofstream(run.events())
            << R"({"time": 117, "event": "stall", "state": "gave up", "line": "stall: rank 2"})"
            << '\n';
      };
  gives_up(loader);
  EXPECT_EQ(of("FAILED", 1).first_error, "rank 0 on n1: RuntimeError: a peer is gone")
      << "the other one's";
  gives_up(trainer);
  EXPECT_EQ(of("FAILED", 1).first_error, "rank 2 is in fetch");
  EXPECT_NE(of("FAILED", 1).advice.find("trainer/autopsy/20261127-075900.txt has"),
            std::string::npos);
  end_attempt(trainer, 200, Cause::failed, "rank 0 exited with code 1");
  EXPECT_EQ(of("FAILED", 1).first_error, "rank 0 on n1: RuntimeError: a peer is gone")
      << "an earlier attempt's";
}

TEST_F(SlurmOutcomeTest, ARanksOwnCodesPass) {
  EXPECT_EQ(of("FAILED", 2).exit_code, 2);
  EXPECT_EQ(of("FAILED", 93).exit_code, 93);
  EXPECT_EQ(of("FAILED", 137).exit_code, 1);
  EXPECT_EQ(of("FAILED", 0, 9).exit_code, 1);
}

TEST_F(SlurmOutcomeTest, AScriptThatItsNodeCannotStartIsNoSignal) {
  const auto outcome = of("FAILED", 0, 53);
  EXPECT_EQ(outcome.reason,
            "job 7: Slurm could not start the script on its node (0:53), which "
            "perhaps does not see " +
                run_.path);
  EXPECT_EQ(outcome.advice, "start it in a folder that all nodes share");
  EXPECT_EQ(outcome.exit_code, 1);
}

TEST_F(SlurmOutcomeTest, AKillForItsMemoryIsTold) {
  for (const char* log : {"slurmstepd-n1: error: StepId=7.0 exceeded memory limit (6 > 2), being "
                          "killed\nsrun: error: n1: task 1: Killed\n",
                          "slurmstepd: error: Detected 1 oom-kill event(s) in StepId=7.0\n"
                          "srun: error: n1: task 1: Killed\n"}) {
    const auto outcome = of("FAILED", 137, 0, log);
    EXPECT_EQ(outcome.status, RunStatus::out_of_memory);
    EXPECT_NE(outcome.reason.find("rank 1 on n1 was killed: out of memory"), std::string::npos)
        << outcome.reason;
  }
  EXPECT_EQ(of("FAILED", 137, 0, "srun: error: n1: task 1: Killed\n").status, RunStatus::failed);
}

TEST_F(SlurmOutcomeTest, TheDeadRankAndItsLogAreNamed) {
  std::filesystem::create_directories(run_.out());
  std::ofstream(run_.out() + "/rank-0001-n1.log") << "its last words\n";
  const auto outcome = of("FAILED", 137, 0, "srun: error: n1: task 1: Killed\n");
  EXPECT_EQ(outcome.reason, "job 7: rank 1 on n1 was killed by signal 9 (SIGKILL)");
  EXPECT_EQ(outcome.log, run_.out() + "/rank-0001-n1.log");
  EXPECT_EQ(outcome.excerpt, (std::vector<std::string>{"its last words"}));
}

TEST_F(SlurmOutcomeTest, WithoutARankTheJobsOwnOutputSpeaks) {
  plan_.sbatch = {{"--output", "/r/out/slurm-%j.log"}};
  const auto outcome = of("FAILED", 3, 0, "module: error: no such module\n");
  EXPECT_EQ(outcome.log, "/r/out/slurm-7.log");
  EXPECT_EQ(outcome.excerpt, (std::vector<std::string>{"module: error: no such module"}));
  EXPECT_EQ(outcome.exit_code, 3);
}

TEST_F(SlurmOutcomeTest, TheFirstErrorComesWithWhatToChange) {
  std::filesystem::create_directories(run_.out());
  std::ofstream(run_.out() + "/rank-0000-n1.log") << "RuntimeError: Connection reset by peer\n";
  std::ofstream(run_.out() + "/rank-0001-n1.log")
      << "Traceback (most recent call last):\n  File\nModuleNotFoundError: No module named 'x'\n";
  const auto outcome = of("FAILED", 1, 0, "srun: error: n1: task 0: Exited with exit code 1\n");
  EXPECT_EQ(outcome.reason, "job 7: rank 0 on n1 exited with code 1");
  EXPECT_EQ(outcome.first_error, "rank 1 on n1: ModuleNotFoundError: No module named 'x'");
  EXPECT_NE(outcome.advice.find("environment.activate"), std::string::npos);
  EXPECT_EQ(outcome.log, run_.out() + "/rank-0001-n1.log");
}

TEST_F(SlurmOutcomeTest, StatesComeWithTheirParticulars) {
  plan_.sbatch = {{"--time", "00:10:00"}};
  const auto limit = of("TIMEOUT");
  EXPECT_EQ(limit.reason, "job 7 reached its time limit of 00:10:00");
  EXPECT_EQ(limit.advice, "raise resources.time; there is no checkpoint to resume from");
  plan_.asks_ranks = false;
  EXPECT_NE(of("TIMEOUT").advice.find("recovery: {signal: USR2}"), std::string::npos);
  plan_.asks_ranks = true;
  std::filesystem::create_directories(run_.checkpoints() + "/step-00000001");
  EXPECT_NE(of("TIMEOUT").advice.find("resume from the checkpoint"), std::string::npos);

  const auto node = of("NODE_FAIL", 0, 0,
                       "srun: error: Node failure on n2\nslurmstepd-n1: error: *** JOB 86 ON n1 "
                       "CANCELLED AT 2026-11-20T19:51:49 DUE TO NODE FAILURE ***\n");
  EXPECT_EQ(node.reason, "job 7 lost node n2");
  EXPECT_EQ(node.advice, "run again; resources.exclude: n2 avoids the node");
  SlurmJob job;
  job.id = "7";
  job.state = "NODE_FAIL";
  job.lost = "n2";
  EXPECT_EQ(explain_slurm(plan_, run_, job, totals_, "").reason, "job 7 lost node n2");
  job.lost = "n[2-3]";
  EXPECT_EQ(explain_slurm(plan_, run_, job, totals_, "").reason, "job 7 lost nodes n[2-3]");
  EXPECT_EQ(explain_slurm(plan_, run_, job, totals_, "").advice,
            "run again; resources.exclude: n[2-3] avoids the nodes");

  EXPECT_EQ(of("OUT_OF_MEMORY", 0, 125, "srun: error: n1: task 0: Out Of Memory\n").reason,
            "job 7 ran out of memory: rank 0 on n1 was killed: out of memory");
  EXPECT_EQ(of("OUT_OF_MEMORY", 0, 125,
               "Killed\nslurmstepd-n1: error: Detected 1 oom-kill event(s) in StepId=3.batch.\n")
                .reason,
            "job 7 ran out of memory on n1");
}

/// The supervisor was killed for its memory, and its successor completed the run. Slurm remembers
/// the first only.
TEST_F(SlurmOutcomeTest, AJobThatCompletedAfterItRanOutOfMemoryIsCompleted) {
  const auto decided = [this](const std::string& job, Next next, RunStatus status) {
    const auto line = line_of(
        JournalDecision{
            .time = 1, .job = job, .allocation = 0, .next = next, .reason = "x", .status = status},
        std::nullopt);
    ASSERT_TRUE(append_to_journal(run_, line));
  };
  decided("6", Next::stop, RunStatus::completed);
  EXPECT_EQ(of("OUT_OF_MEMORY", 0, 125).status, RunStatus::out_of_memory) << "another job's word";
  decided("7", Next::stop, RunStatus::out_of_memory);
  EXPECT_EQ(of("OUT_OF_MEMORY", 0, 125).status, RunStatus::out_of_memory);
  decided("7", Next::stop, RunStatus::completed);
  EXPECT_EQ(of("OUT_OF_MEMORY", 0, 125).status, RunStatus::completed);
  EXPECT_EQ(of("OUT_OF_MEMORY", 0, 125).exit_code, 0);
  EXPECT_EQ(of("TIMEOUT").status, RunStatus::timeout);
}

TEST_F(SlurmOutcomeTest, AnArraysFailuresAreToldLikeASingleJobs) {
  plan_.array = "0-2";
  plan_.sbatch = {{"--output", run_.path + "/slurm-%A_%a.out"}};
  std::vector<SlurmJob> tasks;
  for (const char* number : {"2", "1", "0"}) {  // as scontrol lists them
    SlurmJob task;
    task.array_job = "7";
    task.array_task = number;
    task.state = *number == '0' ? "COMPLETED" : "FAILED";
    task.exit_code = *number == '0' ? 0 : 7;
    tasks.push_back(task);
    if (*number == '0') continue;
    const auto place = task_dir(run_, number);
    std::filesystem::create_directories(place.out());
    std::ofstream(place.out() + "/rank-0001-n2.log") << "ValueError: of " << number << "\n";
    std::ofstream(run_.path + "/slurm-7_" + number + ".out")
        << "srun: error: n2: task 1: Exited with exit code 7\n";
  }
  const auto outcome = explain_jobs(plan_, run_, "7", tasks, totals_);
  EXPECT_EQ(outcome.first_error, "task 1: rank 1 on n2: ValueError: of 1");
  EXPECT_EQ(outcome.reason,
            "job 7: 2 of 3 tasks did not complete: 1 (failed), 2 (failed); job 7_1: "
            "rank 1 on n2 exited with code 7");
  EXPECT_EQ(outcome.others,
            (std::vector<std::string>{"task 2: rank 1 on n2 exited with code 7; first error: rank "
                                      "1 on n2: ValueError: of 2"}));
  EXPECT_EQ(outcome.log, task_dir(run_, "1").out() + "/rank-0001-n2.log");
  EXPECT_EQ(outcome.tasks, (TaskCounts{{RunStatus::completed, 1}, {RunStatus::failed, 2}}));
}

TEST_F(SlurmOutcomeTest, AnArrayThatCompletedSaysOfHowManyTasks) {
  plan_.array = "0-1";
  SlurmJob task;
  task.state = "COMPLETED";
  EXPECT_FALSE(explain_jobs(plan_, run_, "7", {task, task}, totals_).task_seconds) << "not 0";
  task.start = "2026-11-20T19:57:21";
  task.end = "2026-11-20T19:58:01";
  const auto outcome = explain_jobs(plan_, run_, "7", {task, task}, totals_);
  EXPECT_EQ(outcome.task_seconds, 80);
  EXPECT_EQ(outcome.status, RunStatus::completed);
  EXPECT_EQ(outcome.tasks, (TaskCounts{{RunStatus::completed, 2}}));
}

/// scontrol and sacct have one record of them.
TEST_F(SlurmOutcomeTest, TasksCancelledBeforeTheyStartedAreCountedOneByOne) {
  plan_.array = "0-12:2";
  for (const char* waiting : {"2-12:2%2", "[2-12:2]"}) {
    SlurmJob done;
    done.state = "COMPLETED";
    done.array_task = "0";
    SlurmJob cancelled;
    cancelled.state = "CANCELLED";
    cancelled.array_task = waiting;
    const auto outcome = explain_jobs(plan_, run_, "7", {done, cancelled}, totals_);
    EXPECT_EQ(outcome.tasks.at(RunStatus::cancelled), 6);
    EXPECT_EQ(outcome.tasks.at(RunStatus::completed), 1);
    EXPECT_NE(outcome.reason.find("6 of 7 tasks"), std::string::npos) << outcome.reason;
  }
}

TEST_F(SlurmOutcomeTest, ACancelledTaskDoesNotHideOneThatFailed) {
  plan_.array = "0-1";
  SlurmJob cancelled;
  cancelled.array_task = "0";
  cancelled.state = "CANCELLED";
  SlurmJob failed = cancelled;
  failed.array_task = "1";
  failed.state = "TIMEOUT";
  const auto outcome = explain_jobs(plan_, run_, "7", {cancelled, failed}, totals_);
  EXPECT_EQ(outcome.status, RunStatus::timeout);
  EXPECT_NE(outcome.reason.find("; job 7_1 reached its time limit"), std::string::npos);
  EXPECT_EQ(outcome.others, (std::vector<std::string>{"task 0: was cancelled"}));
}

TEST_F(SlurmOutcomeTest, WhoCancelledAndWhatNeverStarted) {
  SlurmJob job;
  job.id = "7";
  job.state = "CANCELLED";
  job.cancelled_by = "alice";
  EXPECT_EQ(explain_slurm(plan_, run_, job, totals_, "").reason, "job 7 was cancelled by alice");
  job.reason = "DependencyNeverSatisfied";
  EXPECT_EQ(explain_slurm(plan_, run_, job, totals_, "").reason,
            "job 7 never started: a job it had to wait for failed");
}

TEST_F(SlurmOutcomeTest, TheLogOfAnArraysTask) {
  plan_.sbatch = {{"--output", "/r/slurm-%A_%a.out"}};
  SlurmJob task;
  task.array_job = "74";
  task.array_task = "0";
  EXPECT_EQ(slurm_log(plan_, task), "/r/slurm-74_0.out");
  plan_.sbatch = {{"--output", "/100%%j/%x/slurm-%j.out"}};
  task.id = "75";
  EXPECT_EQ(slurm_log(plan_, task), "/100%j/%x/slurm-75.out");
}

// srun's 0 alone is no success: the trainer says whether it finished.
TEST_F(SlurmOutcomeTest, SavedAndStoppedIsNotCompleted) {
  totals_.take(EndEvent{.time = 1, .status = "cancelled"});
  EXPECT_EQ(of("COMPLETED").status, RunStatus::cancelled);
  EXPECT_EQ(of("COMPLETED").exit_code, 1);
}

TEST_F(SlurmOutcomeTest, AForgottenJobIsJudgedByItsOwnEnd) {
  EXPECT_EQ(of("").status, RunStatus::failed);
  totals_.take(EndEvent{.time = 1, .status = "completed"});
  EXPECT_EQ(of("").status, RunStatus::completed);
}

/// A command writes no events.
TEST_F(SlurmOutcomeTest, AForgottenJobOfACommandIsJudgedByItsSupervisorsLastDecision) {
  const auto decide = [&](const char* job, Next next, RunStatus status) {
    const JournalDecision decision{.time = 1,
                                   .job = job,
                                   .next = next,
                                   .reason = "lost node n2",
                                   .status = status,
                                   .exit_code = status == RunStatus::completed ? 0 : 1};
    ASSERT_TRUE(append_to_journal(run_, line_of(decision, std::nullopt)));
  };
  decide("6", Next::stop, RunStatus::completed);
  EXPECT_EQ(of("").status, RunStatus::failed) << "another job";
  decide("7", Next::requeue, RunStatus::completed);
  EXPECT_EQ(of("").status, RunStatus::failed) << "not the end";
  decide("7", Next::stop, RunStatus::completed);
  EXPECT_EQ(of("").status, RunStatus::completed);
  EXPECT_EQ(of("").exit_code, 0);
  decide("7", Next::stop, RunStatus::node_fail);
  EXPECT_EQ(of("").status, RunStatus::node_fail);
  EXPECT_EQ(of("").reason, "job 7: lost node n2");
}

TEST_F(SlurmOutcomeTest, WhoGaveTheJobUpSaysWhy) {
  const auto decided = [&](Next next, RunStatus status, const char* reason) {
    const JournalDecision decision{
        .time = 1, .job = "7", .next = next, .reason = reason, .status = status};
    ASSERT_TRUE(append_to_journal(run_, line_of(decision, std::nullopt)));
  };
  const std::string log =
      "srun: error: n1: task 0: Killed\ndllaunch: attempt 2\n"
      "srun: error: n2: task 1: Exited with exit code 7\n";
  EXPECT_EQ(of("FAILED", 7, 0, log).reason, "job 7: rank 1 on n2 exited with code 7");
  decided(Next::restart, RunStatus::failed, "restart 1 of 3");
  EXPECT_EQ(of("FAILED", 7, 0, log).reason, "job 7: rank 1 on n2 exited with code 7");
  decided(Next::stop, RunStatus::failed, "the same as before");
  EXPECT_EQ(of("FAILED", 7, 0, log).reason, "job 7: the same as before");
  EXPECT_EQ(of("FAILED", 7, 0, log).exit_code, 1);
  EXPECT_EQ(of("FAILED", 93, 0, log).exit_code, 93) << "who was killed before has no say";
  decided(Next::stop, RunStatus::node_fail, "lost node n2");
  EXPECT_EQ(of("FAILED", 1).status, RunStatus::node_fail);
  EXPECT_EQ(of("FAILED", 1).reason, "job 7: lost node n2");
}

TEST_F(SlurmOutcomeTest, RestartsAreTheSupervisorsAndSlurms) {
  for (int start = 1; start <= 3; ++start)
    ASSERT_TRUE(append_to_journal(run_, line_of(JournalAttempt{.time = 1, .job = "7"})));
  auto outcome = explain_jobs(plan_, run_, "7", {}, totals_);
  EXPECT_EQ(outcome.restarts, 2);
  SlurmJob job;
  job.restarts = 1;
  add_times(job, 1, outcome);
  EXPECT_EQ(outcome.restarts, 2);
}

TEST_F(SlurmOutcomeTest, TimesComeFromSlurmsClock) {
  EXPECT_EQ(seconds_between("2026-11-20T19:57:20", "2026-11-20T19:58:21"), 61);
  EXPECT_FALSE(seconds_between("", "2026-11-20T19:58:21"));
  SlurmJob job;
  job.submit = "2026-11-20T19:57:20";
  job.start = "2026-11-20T19:57:30";
  job.restarts = 2;
  Outcome outcome;
  add_times(job, 60, outcome);
  EXPECT_EQ(outcome.queue_seconds, 10);
  EXPECT_EQ(outcome.seconds, 50);
  EXPECT_EQ(outcome.restarts, 2);
}

}  // namespace
}  // namespace dllaunch
