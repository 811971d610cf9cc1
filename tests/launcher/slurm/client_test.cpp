#include "launcher/slurm/client.hpp"

#include <gmock/gmock.h>

#include <random>

#include "tests/support/fake_system.hpp"

namespace dllaunch {
namespace {

using testing::HasSubstr;

const std::string squeue = "squeue --noheader --format=" + std::string(queue_format) + " --jobs=5";
const std::string sacct =
    "sacct --allocations --noheader --parsable2 --jobs=5 "
    "--format=JobID,State,ExitCode,Submit,Start,End,JobName";

TEST(SlurmClient, AsksTheQueue) {
  FakeSystem system;
  system.answers[squeue] = {0, "5|PENDING|2026-11-20T20:07:21|0:00||Priority\n", ""};
  const auto queued = queued_jobs(system, "5");
  ASSERT_TRUE(queued);
  ASSERT_EQ(queued->size(), 1U);
  EXPECT_EQ(queued->front().state, "PENDING");

  system.answers[squeue] = {0, "", ""};
  EXPECT_TRUE(queued_jobs(system, "5")->empty());
  system.answers[squeue] = {1, "", "slurm_load_jobs error: Invalid job id specified\n"};
  EXPECT_TRUE(queued_jobs(system, "5")->empty());
  system.answers[squeue] = {
      1, "", "slurm_load_jobs error: Unable to contact slurm controller (connect failure)\n"};
  EXPECT_FALSE(queued_jobs(system, "5"));
}

TEST(SlurmClient, AsksAgainForAListOfTasksThatSqueueShortened) {
  FakeSystem system;
  const std::string squeue = "squeue --noheader --format=" + std::string(queue_format) + " --me";
  system.answers[squeue] = {0, "5_[1,4,9,...]|PENDING|N/A|0:00||Priority\n", ""};
  EXPECT_EQ(queued_jobs(system)->front().id, "5_[1,4,9,...]") << "no answer to the second question";
  system.answers["env SLURM_BITSTR_LEN=0 " + squeue] = {
      0, "5_[1,4,9,16,25]|PENDING|N/A|0:00||Priority\n", ""};
  EXPECT_EQ(queued_jobs(system)->front().id, "5_[1,4,9,16,25]");
  system.answers[squeue] = {0, "5_[0-12:2]|PENDING|N/A|0:00||Priority\n", ""};
  system.ran.clear();
  EXPECT_EQ(queued_jobs(system)->front().id, "5_[0-12:2]");
  EXPECT_EQ(system.ran.size(), 1u);

  const std::string record = "JobId=5 ArrayJobId=5 ArrayTaskId=";
  system.answers["scontrol show job 5"] = {0, record + "1,4,9,... JobState=CANCELLED\n", ""};
  system.answers["env SLURM_BITSTR_LEN=0 scontrol show job 5"] = {
      0, record + "1,4,9,16,25 JobState=CANCELLED\n", ""};
  const auto ended = jobs_of_controller(system, "5");
  ASSERT_EQ(ended.jobs.size(), 1u);
  EXPECT_EQ(ended.jobs[0].array_task, "1,4,9,16,25");
}

TEST(SlurmClient, SignalsAndCancels) {
  FakeSystem system;
  system.answers["scancel --batch --signal=USR2 5"] = {0, "", ""};
  system.answers["scancel 5"] = {1, "",
                                 "scancel: error: Kill job error on job id 5: Access denied"};
  EXPECT_TRUE(signal_script(system, "5", "USR2"));
  const auto denied = cancel_job(system, "5");
  ASSERT_FALSE(denied);
  EXPECT_EQ(denied.error().what,
            "scancel 5: scancel: error: Kill job error on job id 5: Access denied");
}

/// Slurm may have forgotten a job that it does not know. Without an answer the job may be known.
TEST(SlurmClient, SilenceIsNotAnUnknownJob) {
  FakeSystem system;
  EXPECT_FALSE(jobs_of_controller(system, "5").silent) << "there is no scontrol";
  system.programs = {"scontrol", "sacct"};
  EXPECT_TRUE(jobs_of_controller(system, "5").silent) << "a timeout";
  EXPECT_TRUE(jobs_of_accounting(system, "5").silent);
  system.answers["scontrol show job 5"] = {1, "",
                                           "slurm_load_jobs error: Invalid job id specified"};
  EXPECT_FALSE(jobs_of_controller(system, "5").silent);
  system.answers["scontrol show job 5"] = {1, "", "slurm_load_jobs error: Unable to contact"};
  EXPECT_TRUE(jobs_of_controller(system, "5").silent);
  system.answers[sacct] = {1, "", "Slurm accounting storage is disabled\n"};
  EXPECT_FALSE(jobs_of_accounting(system, "5").silent);
}

/// srun, which would name it, may be killed before it prints anything.
TEST(SlurmClient, TheNodeThatAJobLostIsAskedFor) {
  FakeSystem system;
  system.programs = {"scontrol"};
  system.answers["scontrol show job 5"] = {
      0, "JobId=5 JobName=a\n   JobState=NODE_FAIL Reason=NodeDown\n   NodeList=n[1-2]\n", ""};
  EXPECT_EQ(jobs_of_controller(system, "5").jobs.at(0).lost, "") << "no answer";
  system.answers["scontrol show node n[1-2]"] = {
      0, "NodeName=n1 State=IDLE\n\nNodeName=n2 State=DOWN+NOT_RESPONDING\n", ""};
  EXPECT_EQ(jobs_of_controller(system, "5").jobs.at(0).lost, "n2");
}

TEST(SlurmClient, NodesThatCanStartJobs) {
  FakeSystem system;
  EXPECT_TRUE(usable_nodes(system, "gpu", "").empty()) << "no answer";
  system.answers["sinfo --noheader --Node --partition=gpu --format=%N %T"] = {
      0, "n1 idle\nn2 allocated\nn3 mixed \nn4 idle*\nn5 drained\nn6 down*\nn7 planned\nn8\n\n",
      ""};
  EXPECT_EQ(usable_nodes(system, "gpu", ""), (std::vector<std::string>{"n1", "n2", "n3", "n7"}));
  EXPECT_TRUE(usable_nodes(system, "", "").empty());
}

TEST(SlurmClient, NodesThatSleepOrArePlannedCanStartJobs) {
  FakeSystem system;
  auto& answer = system.answers["sinfo --noheader --Node --partition=a,b --format=%N %T"];
  for (const std::string state : {"idle~", "idle#", "mixed-", "allocated+", "allocated-", "idle%",
                                  "mixed@", "idle^", "idle~-", "completing"}) {
    answer = {0, "n1 " + state + "\nn1 " + state + "\n", ""};
    EXPECT_EQ(usable_nodes(system, "a,b", ""), std::vector<std::string>{"n1"}) << state;
  }
  for (const std::string state : {"idle*", "idle!", "mixed~*", "draining@", "down~", "reserved",
                                  "maint", "reboot^", "mixed$", "~", "idles", "idle~x"}) {
    answer = {0, "n1 " + state + "\n", ""};
    EXPECT_TRUE(usable_nodes(system, "a,b", "").empty()) << state;
  }
}

/// The others start jobs, but not this one.
TEST(SlurmClient, NodesOfAReservationThatCanStartJobs) {
  FakeSystem system;
  system.answers["sinfo --noheader --Node --partition=a --format=%N %T"] = {
      0, "n1 reserved\nn2 allocated\nn3 maint\nn4 drained\nn5 idle\nn6 mixed$\n", ""};
  EXPECT_TRUE(usable_nodes(system, "a", "ours").empty()) << "no answer";
  system.answers["scontrol --oneliner show reservation"] = {
      0,
      "ReservationName=ours Nodes=n[1-4] NodeCnt=4\nReservationName=theirs Nodes=n[5-6]\n"
      "ReservationName=more Nodes=n[4-6]\n",
      ""};
  EXPECT_EQ(usable_nodes(system, "a", "ours"), (std::vector<std::string>{"n1", "n2", "n3"}));
  EXPECT_EQ(usable_nodes(system, "a", "ours,more"),
            (std::vector<std::string>{"n1", "n2", "n3", "n5", "n6"}));
  EXPECT_TRUE(usable_nodes(system, "a", "gone").empty());
}

TEST(SlurmClient, WithoutAccountingNoJobIsRecorded) {
  FakeSystem system;
  EXPECT_TRUE(own_recorded_jobs(system, 0)) << "there is no sacct";
  system.programs = {"sacct"};
  EXPECT_FALSE(own_recorded_jobs(system, 0)) << "a timeout";
  std::string answer = "Slurm accounting storage is disabled";
  system.respond = [&](const auto&) { return Result<CommandOutput>(CommandOutput{1, "", answer}); };
  EXPECT_TRUE(own_recorded_jobs(system, 0));
  answer = "sacct: error: Problem talking to the database";
  const auto failed = own_recorded_jobs(system, 0);
  ASSERT_FALSE(failed);
  EXPECT_EQ(failed.error().what, "sacct: " + answer);
}

TEST(SlurmClient, AFailedQueryOfTheClusterNamesItsCommand) {
  FakeSystem system;
  system.answers["scontrol show config"] = {1, "", "a\nUnable to contact slurm controller\n"};
  EXPECT_EQ(cluster_config(system).error().what,
            "`scontrol show config` failed: Unable to contact slurm controller");
  EXPECT_EQ(cluster_config(system).error().kind, ErrorKind::unavailable);
  system.answers["scontrol show config"] = {1, "", "scontrol: error: DNS SRV lookup failed\n"};
  EXPECT_EQ(cluster_config(system).error().kind, ErrorKind::bad_request);
}

TEST(SlurmClient, JsonWhereScontrolsTextHasNoNode) {
  FakeSystem system;
  system.answers["scontrol --all --oneliner show node"] = {0, "a wrapper's words\n", ""};
  system.answers["scontrol --all show node --json"] = {0, R"({"nodes": [{"name": "n1"}]})", ""};
  const auto nodes = cluster_nodes(system);
  ASSERT_TRUE(nodes);
  ASSERT_EQ(nodes->size(), 1U);
  EXPECT_EQ(nodes->front().name, "n1");
}

TEST(SlurmClient, WordsOfJobsFromAnyText) {
  const auto jobs = parse_job_words("12|mine|/x\n74_3|a|b\n|no|id\nJOBID|COMMENT\n");
  ASSERT_EQ(jobs.size(), 2U);
  EXPECT_EQ(jobs[0].words, "|mine|/x");
  EXPECT_EQ(jobs[1].id, "74");
  std::mt19937 random(5);
  const std::string whole = "74_0|CANCELLED by 0|0:15|2026-11-20T19:00:00|None|Unknown|x\n74|A\n";
  for (int i = 0; i < 3000; ++i) {
    auto text = whole;
    for (int k = 0; k < 3; ++k) text[random() % text.size()] = "74_|\n :x"[random() % 8];
    for (const auto& job : parse_accounting(text, "74"))
      EXPECT_TRUE(job.id == "74" || job.array_job == "74") << text;
    for (const auto& job : parse_job_words(text))
      EXPECT_EQ(job.id.find_first_not_of("0123456789"), std::string::npos) << text;
  }
}

// sacct and squeue show a component as JOB+OFFSET.
TEST(HeterogeneousJob, ItsComponentsAreFoundByTheirNumbers) {
  const std::string text =
      "12+0|COMPLETED|0:0|2026-11-26T19:47:19|2026-11-26T19:47:19|2026-11-26T19:47:35|loader\n"
      "12+1|CANCELLED by 0|0:0|2026-11-26T19:47:19|2026-11-26T19:47:19|2026-11-26T19:47:25|train\n";
  const auto first = parse_accounting(text, "12");
  const auto second = parse_accounting(text, "13");
  ASSERT_EQ(first.size(), 1u);
  ASSERT_EQ(second.size(), 1u);
  EXPECT_EQ(first[0].state, "COMPLETED");
  EXPECT_EQ(second[0].state, "CANCELLED");
  EXPECT_EQ(second[0].id, "13");
  const auto words = parse_job_words("12+1|dllaunch:0123456789abcdef|/x/job.sbatch\n");
  ASSERT_EQ(words.size(), 1u);
  EXPECT_EQ(words[0].id, "12") << "the job that was submitted";
}

}  // namespace
}  // namespace dllaunch
