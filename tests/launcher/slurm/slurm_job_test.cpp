#include "launcher/slurm/slurm_job.hpp"

#include <gtest/gtest.h>

#include "tests/support/fake_system.hpp"

namespace dllaunch {
namespace {

TEST(SlurmJob, FindsTheIdAmongAWrappersLines) {
  EXPECT_EQ(job_id_in("123\n"), "123");
  EXPECT_EQ(job_id_in("123;cluster\n"), "123");
  EXPECT_EQ(job_id_in("Welcome!\n2 jobs in your queue\n\n77\nbye\n"), "77");
  EXPECT_EQ(job_id_in("Submitted batch job 9\n"), "9");
  EXPECT_FALSE(job_id_in("sbatch: nothing\n"));
  EXPECT_FALSE(job_id_in(""));
}

Submitted submission_with(CommandOutput output) {
  FakeSystem system;
  system.answers["sbatch --parsable /r/job.sbatch"] = std::move(output);
  return submit_job(system, "/r/job.sbatch");
}

Result<std::string> submit_with(CommandOutput output) {
  return submission_with(std::move(output)).id;
}

TEST(SlurmJob, ARefusalComesInSbatchsWords) {
  const auto partition = submit_with(
      {1, "",
       "sbatch: error: invalid partition specified: nope\n"
       "sbatch: error: Batch job submission failed: Invalid partition name specified\n"});
  ASSERT_FALSE(partition);
  EXPECT_EQ(partition.error().kind, ErrorKind::unavailable);
  EXPECT_NE(partition.error().what.find("invalid partition specified: nope"), std::string::npos);

  for (const char* message :
       {"sbatch: unrecognized option '--bogus'\nTry \"sbatch --help\" for more information",
        "sbatch: error: Invalid --time specification"}) {
    const auto option = submit_with({255, "", message});
    ASSERT_FALSE(option);
    EXPECT_EQ(option.error().kind, ErrorKind::bad_request) << message;
  }
  EXPECT_FALSE(submit_with({0, "no id here\n", ""}));
  FakeSystem nothing;
  EXPECT_EQ(submit_job(nothing, "x").id.error().kind, ErrorKind::unavailable);
}

/// What is refused may be submitted again; a second job of a run that was taken is a fault.
TEST(SlurmJob, OnlyACertainNoIsARefusal) {
  const std::string failed = "sbatch: error: Batch job submission failed: ";
  EXPECT_TRUE(submission_with({1, "", failed + "Invalid account"}).refused);
  EXPECT_TRUE(submission_with({255, "", "sbatch: error: Invalid --time specification"}).refused);
  FakeSystem nothing;
  EXPECT_TRUE(submit_job(nothing, "x").refused) << "not installed";

  EXPECT_FALSE(submission_with({1, "", failed + "Socket timed out on send/recv"}).refused);
  EXPECT_FALSE(submission_with({1, "", ""}).refused);
  EXPECT_FALSE(submission_with({137, "", "cannot start the job yet"}).refused) << "killed";
  EXPECT_FALSE(submission_with({0, "no id here\n", ""}).refused);
  FakeSystem hangs;
  hangs.programs = {"sbatch"};
  const auto silent = submit_job(hangs, "x");
  EXPECT_EQ(silent.id.error().kind, ErrorKind::timeout);
  EXPECT_FALSE(silent.refused);
}

/// sbatch lets SBATCH_ variables count before the lines of a script.
TEST(SlurmJob, SubmitsWithoutVariablesThatContradictTheScript) {
  FakeSystem system;
  system.programs = {"env"};
  system.files["/r/job.sbatch"] = "#!/bin/bash\n#SBATCH --partition=gpu\n\ntrue\n";
  system.variables = {{"SBATCH_PARTITION", "other"}, {"SBATCH_QOS", "long"}};
  system.answers["env -u SBATCH_PARTITION sbatch --parsable /r/job.sbatch"] = {0, "12\n", ""};
  const auto id = submit_job(system, "/r/job.sbatch").id;
  ASSERT_TRUE(id) << id.error().what;
  EXPECT_EQ(*id, "12");
  system.answers["env -u SBATCH_QOS sbatch --test-only --qos=short --wrap=true"] = {0, "ok", ""};
  EXPECT_FALSE(test_submission(system, {"--qos=short"}).refusal);
  system.variables = {{"SLURM_TIME_FORMAT", "relative"}};
  system.answers["env -u SLURM_TIME_FORMAT sbatch --test-only --wrap=true"] = {0, "ok", ""};
  EXPECT_FALSE(test_submission(system, {}).refusal);
}

const std::string squeue = "squeue --noheader --format=" + std::string(queue_format) + " --jobs=5";

TEST(SlurmJob, TheEndFromScontrolElseFromAccounting) {
  FakeSystem system;
  system.answers["scontrol show job 5"] = {
      0, "JobId=5 JobName=x\n   JobState=TIMEOUT Reason=TimeLimit\n   ExitCode=0:15\n", ""};
  ASSERT_TRUE(finished_job(system, "5"));
  EXPECT_EQ(finished_job(system, "5")->state, "TIMEOUT");

  system.answers["scontrol show job 5"] = {1, "",
                                           "slurm_load_jobs error: Invalid job id specified"};
  EXPECT_FALSE(finished_job(system, "5"));
  system.answers
      ["sacct --allocations --noheader --parsable2 --jobs=5 "
       "--format=JobID,State,ExitCode,Submit,Start,End,JobName"] = {
      0, "5|CANCELLED by 0|0:15|2026-11-20T19:00:00|2026-11-20T19:00:05|2026-11-20T19:01:00\n", ""};
  const auto job = finished_job(system, "5");
  ASSERT_TRUE(job);
  EXPECT_EQ(job->state, "CANCELLED");
  EXPECT_EQ(job->signal, 15);
  EXPECT_EQ(job->cancelled_by, "root");
  EXPECT_EQ(job->end, "2026-11-20T19:01:00");
}

TEST(SlurmJob, WhoCancelledIsAskedOfAccounting) {
  FakeSystem system;
  system.answers["scontrol show job 5"] = {
      0, "JobId=5 JobName=x\n   JobState=CANCELLED Reason=None\n   ExitCode=0:15\n", ""};
  EXPECT_EQ(finished_job(system, "5")->cancelled_by, "");
  system.answers
      ["sacct --allocations --noheader --parsable2 --jobs=5 "
       "--format=JobID,State,ExitCode,Submit,Start,End,JobName"] = {
      0, "5|CANCELLED by 4000000000|0:15|2026-11-20T19:00:00|None|Unknown\n", ""};
  EXPECT_EQ(finished_job(system, "5")->cancelled_by, "uid 4000000000");
}

TEST(SlurmJob, AnArrayHasATaskEach) {
  FakeSystem system;
  system.answers["scontrol show job 74"] = {
      0,
      "JobId=74 ArrayJobId=74 ArrayTaskId=1 JobName=x\n   JobState=COMPLETED Reason=None\n\n"
      "JobId=75 ArrayJobId=74 ArrayTaskId=0 JobName=x\n   JobState=FAILED Reason=None\n",
      ""};
  const auto jobs = finished_jobs(system, "74");
  ASSERT_EQ(jobs.size(), 2u);
  EXPECT_EQ(jobs[1].array_task, "0");
  EXPECT_EQ(jobs[1].state, "FAILED");

  system.answers["scontrol show job 74"] = {1, "",
                                            "slurm_load_jobs error: Invalid job id specified"};
  system.answers
      ["sacct --allocations --noheader --parsable2 --jobs=74 "
       "--format=JobID,State,ExitCode,Submit,Start,End,JobName"] = {
      0,
      "74_0|PREEMPTED|0:0|2026-11-20T19:00:00|2026-11-20T19:00:05|2026-11-20T19:01:00\n"
      "74_1|COMPLETED|0:0|2026-11-20T19:00:00|2026-11-20T19:00:05|2026-11-20T19:01:00\n"
      "74_0|COMPLETED|0:0|2026-11-20T19:00:00|2026-11-20T19:02:05|2026-11-20T19:03:00\n"
      "740|FAILED|1:0|2026-11-20T19:00:00|2026-11-20T19:02:05|2026-11-20T19:03:00\n",
      ""};
  const auto recorded = finished_jobs(system, "74");
  ASSERT_EQ(recorded.size(), 2u);
  for (const auto& job : recorded) EXPECT_EQ(job.state, "COMPLETED");
  EXPECT_EQ(recorded[1].array_task, "0");
}

TEST(SlurmJob, StatesAreWaitingRunningOrFinal) {
  EXPECT_TRUE(is_waiting_state("PENDING"));
  EXPECT_FALSE(is_waiting_state("RUNNING"));
  EXPECT_FALSE(is_final_state("COMPLETING"));
  EXPECT_TRUE(is_final_state("OUT_OF_MEMORY"));
}

TEST(SlurmJob, JsonWhereTheTextMakesNoSense) {
  FakeSystem system;
  system.answers[squeue] = {0, "a wrapper's table\n", ""};
  system.answers["squeue --json --jobs=5"] = {0,
                                              R"({"jobs": [{"job_id": 4, "job_state": ["RUNNING"]},
                      {"job_id": 5, "job_state": ["PENDING"], "state_reason": "Priority"}]})",
                                              ""};
  const auto queued = queued_jobs(system, "5");
  ASSERT_TRUE(queued);
  ASSERT_EQ(queued->size(), 1U);
  EXPECT_EQ(queued->front().id, "5");
  EXPECT_EQ(queued->front().reason, "Priority");

  system.answers
      ["sacct --allocations --noheader --parsable2 --jobs=5 "
       "--format=JobID,State,ExitCode,Submit,Start,End,JobName"] = {0, "a wrapper's table\n", ""};
  system.answers["sacct --json --jobs=5"] = {
      0, R"({"jobs": [{"job_id": 5, "state": {"current": ["TIMEOUT"]}}]})", ""};
  system.answers["scontrol show job 5"] = {1, "", "Invalid job id specified"};
  ASSERT_TRUE(finished_job(system, "5"));
  EXPECT_EQ(finished_job(system, "5")->state, "TIMEOUT");
}

TEST(SlurmJob, TestOnlyTellsItsEstimateOrItsRefusal) {
  FakeSystem system;
  system.answers["sbatch --test-only --nodes=2 --wrap=true"] = {
      0, "", "sbatch: Job 5 to start at 2026-11-21T11:22:45 using 2 processors on nodes n[1-2]\n"};
  const auto said = test_submission(system, {"--nodes=2"});
  EXPECT_FALSE(said.refusal);
  EXPECT_NE(said.message.find("to start at"), std::string::npos);
  system.answers["sbatch --test-only --nodes=9 --wrap=true"] = {
      1, "", "allocation failure: Invalid qos specification\n"};
  const auto refused = test_submission(system, {"--nodes=9"});
  ASSERT_TRUE(refused.refusal);
  EXPECT_EQ(refused.refusal->kind, ErrorKind::unavailable);
  EXPECT_NE(refused.refusal->what.find("Invalid qos"), std::string::npos);
  EXPECT_EQ(refused.message, "allocation failure: Invalid qos specification");
}

}  // namespace
}  // namespace dllaunch
