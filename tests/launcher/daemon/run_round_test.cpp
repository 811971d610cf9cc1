// One run in the rounds: wishes, refusals, silences, ends.
#include <gmock/gmock.h>

#include "launcher/run/journal.hpp"
#include "tests/launcher/daemon/played_slurm.hpp"

namespace dllaunch {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

class RunRoundTest : public PlayedSlurm {};

TEST_F(RunRoundTest, AWishToRequeueIsGranted) {
  add("r", "10");
  look();
  jobs_["10"].state = "COMPLETED";
  look(2);
  ASSERT_TRUE(run("r").over);
  ASSERT_TRUE(store_->wish(run("r").id, "requeue", now_s_));
  look();
  EXPECT_EQ(ran("sbatch"), 1);
  EXPECT_EQ(run("r").job_id, "100");
  EXPECT_EQ(run("r").wish, "");
  jobs_["100"].state = "RUNNING";
  look();
  ASSERT_TRUE(store_->wish(run("r").id, "requeue", now_s_));
  look();
  EXPECT_EQ(ran("scontrol", "requeue"), 1);
  EXPECT_EQ(ran("sbatch"), 1);
}

/// sbatch says no: tried again with pauses, each end counted once, and not for ever.
TEST_F(RunRoundTest, ARefusalIsTriedAgainAndThenGivenUp) {
  const auto dir = add("r", "10");
  look();
  save_checkpoint(dir);
  refuses_ = true;
  jobs_["10"].state = "TIMEOUT";
  look();
  EXPECT_EQ(ran("sbatch"), 1);
  EXPECT_FALSE(run("r").over);
  EXPECT_EQ(run("r").submissions, 0);
  EXPECT_EQ(run("r").without_progress, 0);
  // The next daemon takes it up where this one left it.
  watch_ = std::make_unique<RunWatch>(place_.system, *store_,
                                      DaemonPaths{.folder = place_.path_of("")}, DaemonSettings{});
  look(100);
  EXPECT_EQ(ran("sbatch"), 1 + most_refusals);
  EXPECT_TRUE(run("r").over);
  EXPECT_THAT(run("r").decision, HasSubstr("refused"));
  EXPECT_TRUE(fs::exists(dir + "/summary.json"));
}

/// The store is full, or locked, in the very round in which the run is given up.
TEST_F(RunRoundTest, ANoticeThatTheStoreRefusedIsSentLater) {
  watch_.reset();
  store_.reset();
  {
    auto database = Database::open(place_.path_of("store.db"));
    ASSERT_TRUE(database);
    const auto until = std::to_string(now_s_ + 25);
    ASSERT_TRUE(database->script("CREATE TRIGGER full BEFORE INSERT ON notices WHEN NEW.time < " +
                                 until + " BEGIN SELECT RAISE(ABORT, 'full'); END"));
  }
  store_ = *Store::open(place_.path_of("store.db"), 1);
  watch_ =
      std::make_unique<RunWatch>(place_.system, *store_, DaemonPaths{.folder = place_.path_of("")},
                                 DaemonSettings{.notify = "tell"});
  add("r", "10");
  look();
  jobs_["10"].state = "TIMEOUT";
  look();
  EXPECT_EQ(ran("sh"), 0);
  EXPECT_FALSE(run("r").over);
  look();
  EXPECT_TRUE(run("r").over);
  EXPECT_EQ(ran("sh", "gave_up"), 1);
}

/// It would end at once; a file system that is away may come back.
TEST_F(RunRoundTest, WhileTheFolderOfItsSubmissionIsMissingARunWaits) {
  const auto folder = place_.path_of("project");
  const auto dir = add("r", "10", "cd -- " + folder + " || exit 3");
  look();
  save_checkpoint(dir);
  jobs_["10"].state = "TIMEOUT";
  look(5);
  EXPECT_EQ(ran("sbatch"), 0);
  EXPECT_THAT(run("r").decision, HasSubstr(folder));
  EXPECT_FALSE(run("r").over);
  place_.system.folders.insert(folder);
  look(2);
  EXPECT_EQ(ran("sbatch", "--chdir=" + folder), 1);
}

TEST_F(RunRoundTest, AnArrayIsSubmittedAgainWithoutTheTasksThatCompleted) {
  const auto dir = add("r", "10", "#SBATCH --array=0-4:2");
  std::ofstream(dir + "/plan.json") << R"({"name": "r", "launcher": "slurm", "nodes": 1,
      "ranks_per_node": 1, "sbatch": {"--array": "0-4:2"}})";
  jobs_["10"] = {.state = "FAILED", .exit = "1:0"};
  look(3);
  ASSERT_TRUE(run("r").over);
  const auto complete = [&dir](const std::string& task) {
    fs::create_directories(dir + "/task-" + task);
    ASSERT_TRUE(mark_finished({.path = dir + "/task-" + task}, "10"));
  };
  complete("0");
  complete("4");
  ASSERT_TRUE(store_->wish(run("r").id, "requeue", now_s_));
  look();
  EXPECT_EQ(ran("sbatch", "--array=2"), 1);
  jobs_[run("r").job_id].state = "COMPLETED";
  complete("2");
  look(3);
  ASSERT_TRUE(run("r").over);
  ASSERT_TRUE(store_->wish(run("r").id, "requeue", now_s_));
  look();
  EXPECT_EQ(ran("sbatch"), 1);
  EXPECT_THAT(run("r").decision, HasSubstr("all its tasks have completed"));
}

TEST_F(RunRoundTest, WhatWasCancelledAndIsWishedForAgainIsLookedAfterAgain) {
  const auto dir = add("r", "10");
  look();
  ASSERT_TRUE(store_->wish(run("r").id, "cancel", now_s_));
  look();
  jobs_["10"].state = "CANCELLED";
  look(3);
  ASSERT_TRUE(run("r").over);
  ASSERT_TRUE(store_->wish(run("r").id, "requeue", now_s_));
  look();
  ASSERT_EQ(run("r").job_id, "100");
  save_checkpoint(dir);
  jobs_["100"].state = "RUNNING";
  look();
  jobs_["100"].state = "TIMEOUT";
  look();
  EXPECT_EQ(run("r").job_id, "101");
}

TEST_F(RunRoundTest, AWishToCancelAsksTheRanksFirst) {
  save_checkpoint(add("r", "10"));
  look();
  ASSERT_TRUE(store_->wish(run("r").id, "cancel", now_s_));
  look();
  EXPECT_EQ(ran("scancel", "--signal=USR1"), 1);
  EXPECT_EQ(ran("scancel", "10"), 1);
  look();
  EXPECT_EQ(ran("scancel"), 1) << "it has its 30 s";
  look(3);
  EXPECT_EQ(ran("scancel"), 2);
  jobs_["10"].state = "TIMEOUT";
  look(2);
  EXPECT_TRUE(run("r").over);
  EXPECT_EQ(ran("sbatch"), 0) << run("r").decision;
}

TEST_F(RunRoundTest, WhatTheUserStartsAgainIsANewJob) {
  const auto dir = add("r", "10");
  look();
  jobs_["10"].state = "FAILED";
  jobs_["10"].exit = "1:0";
  look(2);
  ASSERT_TRUE(run("r").over);
  add("r", "12");
  fs::remove(dir + "/summary.json");
  look();
  EXPECT_FALSE(run("r").over);
  EXPECT_EQ(run("r").job_id, "12");
  EXPECT_EQ(run("r").state, "running");
}

/// Between an intent and the answer about its job, the run is neither judged nor recorded as ended.
TEST_F(RunRoundTest, AnAnswerOfSbatchThatGetsLostIsNoSecondSubmission) {
  const auto dir = add("r", "10");
  look();
  save_checkpoint(dir);
  loses_answers_ = true;
  jobs_["10"].state = "TIMEOUT";
  look();
  EXPECT_EQ(run("r").state, state_submitting);
  look();
  EXPECT_EQ(ran("sbatch"), 1);
  EXPECT_FALSE(run("r").over);
  EXPECT_FALSE(fs::exists(dir + "/summary.json"));
  // The job has started and written its number.
  std::ofstream(dir + "/job.id") << "100\n";
  jobs_["100"].state = "RUNNING";
  look(2);
  EXPECT_EQ(run("r").job_id, "100");
  EXPECT_EQ(run("r").state, "running");
  EXPECT_EQ(ran("sbatch"), 1);
}

/// A round while `dllaunch run` is inside sbatch: nothing of the daemon's own is open.
TEST_F(RunRoundTest, ARunThatIsBeingSubmittedByItsUser) {
  const auto dir = add("r", "10");
  fs::remove(dir + "/job.id");
  {
    const auto lock = RunLock::take({.path = dir});
    ASSERT_TRUE(lock);
    look(2);
    EXPECT_EQ(run("r").state, "submitting");
    std::ofstream(dir + "/job.id") << "10\n";
  }
  look(2);
  EXPECT_EQ(run("r").state, "running");
  save_checkpoint(dir);
  jobs_["10"].state = "TIMEOUT";
  look();
  EXPECT_EQ(run("r").job_id, "100");
}

/// The index is touched before sbatch has named a job.
TEST_F(RunRoundTest, WhatTheUserStartsAgainIsSeenHoweverLongSbatchTakes) {
  const auto dir = add("r", "10");
  look();
  jobs_["10"].state = "FAILED";
  jobs_["10"].exit = "1:0";
  look(2);
  ASSERT_TRUE(run("r").over);
  {
    const auto lock = RunLock::take({.path = dir});
    place_.store({.folder = "r", .job_id = "10", .trains = true});
    look(3);
    jobs_["12"] = {};
    std::ofstream(dir + "/job.id") << "12\n";
  }
  look(2);
  EXPECT_EQ(run("r").job_id, "12");
  EXPECT_EQ(run("r").state, "running");
}

/// scontrol and accounting time out in the minute after a node died.
TEST_F(RunRoundTest, WhoDoesNotAnswerMayKnowHowItEnded) {
  const auto dir = add("r", "10");
  look();
  jobs_["10"].state = "NODE_FAIL";
  mute_ = true;
  look(3);
  EXPECT_FALSE(run("r").over);
  EXPECT_FALSE(fs::exists(dir + "/summary.json"));
  mute_ = false;
  look();
  EXPECT_EQ(run("r").job_id, "100");
}

TEST_F(RunRoundTest, TheCapHoldsWithinARoundAndWhatWaitsCanBeCancelled) {
  watch_ =
      std::make_unique<RunWatch>(place_.system, *store_, DaemonPaths{.folder = place_.path_of("")},
                                 DaemonSettings{.most_jobs = 1});
  for (const char* name : {"a", "b", "c"}) save_checkpoint(add(name, std::to_string(10 + name[0])));
  look();
  for (auto& [id, job] : jobs_) job.state = "TIMEOUT";
  look(2);
  EXPECT_EQ(ran("sbatch"), 1);
  const std::string waiting = run("a").job_id == "100" ? "b" : "a";
  EXPECT_THAT(run(waiting).decision, HasSubstr("waits"));
  ASSERT_TRUE(store_->wish(run(waiting).id, "cancel", now_s_));
  look();
  jobs_["100"].state = "COMPLETED";
  look(3);
  EXPECT_EQ(ran("sbatch"), 2) << "the third one";
  EXPECT_TRUE(run(waiting).over);
  EXPECT_EQ(run(waiting).submissions, 0);
}

TEST_F(RunRoundTest, WhatCompletedBeforeItsNodeDiedIsComplete) {
  const auto dir = add("r", "10");
  look();
  place_.append(dir, "events.jsonl",
                R"({"time": 9e9, "event": "end", "status": "completed", "seconds": 3})"
                "\n");
  jobs_["10"].state = "NODE_FAIL";
  look(2);
  EXPECT_TRUE(run("r").over);
  EXPECT_EQ(ran("sbatch"), 0);
}

TEST_F(RunRoundTest, ADirectoryThatIsAwayForAWhile) {
  const auto dir = add("r", "10");
  look();
  fs::rename(dir, dir + ".away");
  look(2);
  EXPECT_FALSE(run("r").over);
  fs::rename(dir + ".away", dir);
  jobs_["10"].state = "COMPLETED";
  look(2);
  EXPECT_EQ(run("r").state, "completed");
}

TEST_F(RunRoundTest, ADirectoryThatWasRemovedIsAskedForNoMore) {
  const auto dir = add("r", "10");
  look();
  fs::rename(dir, dir + ".away");
  jobs_["10"].state = "COMPLETED";
  look();
  const int asked = ran("squeue");
  look(3);
  EXPECT_EQ(ran("squeue"), asked);
  EXPECT_FALSE(run("r").over);
  now_s_ += 8 * 86400;
  look();
  EXPECT_TRUE(run("r").over);
  EXPECT_THAT(run("r").decision, HasSubstr("no longer exists"));
}

TEST_F(RunRoundTest, RecoveryIsReadFromTheRunsFiles) {
  const auto dir = add("r", "10", "#SBATCH --no-requeue");
  const RunDir files{.path = dir};
  EXPECT_FALSE(recovery_wishes(place_.system, files).may_start_again);
  EXPECT_THAT(recovery_wishes(place_.system, files).requeue_on, testing::Contains("timeout"));
  std::ofstream(files.job_yaml()) << "name: x\nrun: hostname\n";
  EXPECT_THAT(recovery_wishes(place_.system, files).requeue_on,
              testing::Not(testing::Contains("timeout")))
      << "it does not say that it can resume";
  std::ofstream(files.job_yaml()) << "name: x\nrun: hostname\nrecovery: {signal: USR1}\n";
  EXPECT_THAT(recovery_wishes(place_.system, files).requeue_on, testing::Contains("timeout"));
}

/// What the second costs is too much: it waits until the month is over.
TEST_F(RunRoundTest, GpuHoursAreCountedAndCapped) {
  watch_ =
      std::make_unique<RunWatch>(place_.system, *store_, DaemonPaths{.folder = place_.path_of("")},
                                 DaemonSettings{.most_gpu_hours = 6});
  for (const char* id : {"10", "11"}) {
    add(std::string("r") + id, id);
    jobs_[id].start = "2026-01-01T00:00:00";
    jobs_[id].end = "2026-01-01T02:00:00";
  }
  look();
  jobs_["10"].state = "NODE_FAIL";
  look();
  EXPECT_EQ(ran("sbatch"), 1) << "two hours on two nodes";
  jobs_["11"].state = "NODE_FAIL";
  look(2);
  EXPECT_EQ(ran("sbatch"), 1);
  EXPECT_FALSE(run("r11").over);
  EXPECT_THAT(run("r11").decision, HasSubstr("have used 8.0 GPU hours"));
  now_s_ += 31 * 86400.0;
  look();
  EXPECT_EQ(ran("sbatch"), 2);
}

/// Three attempts without a checkpoint, and its supervisor has said so: a new job would only begin
/// to count anew.
TEST_F(RunRoundTest, WhatItsSupervisorGaveUpIsLeft) {
  const auto dir = add("r", "10");
  look();
  save_checkpoint(dir);
  std::ofstream(dir + "/supervisor.jsonl") << line_of(
      JournalDecision{
          .time = 1, .job = "10", .next = Next::stop, .reason = "3 attempts, no new checkpoint"},
      {});
  jobs_["10"].state = "NODE_FAIL";
  look();
  EXPECT_EQ(ran("sbatch"), 0);
  EXPECT_TRUE(run("r").over);
  EXPECT_THAT(run("r").decision, HasSubstr("its supervisor stopped: 3 attempts"));
}

TEST_F(RunRoundTest, WhatSlurmDidNotPutBackForItsSupervisorIsSubmitted) {
  const auto dir = add("r", "10");
  look();
  save_checkpoint(dir);
  std::ofstream(dir + "/supervisor.jsonl") << line_of(JournalDecision{.time = 1,
                                                                      .job = "10",
                                                                      .next = Next::stop,
                                                                      .reason = "not requeued",
                                                                      .wanted_requeue = true},
                                                      {});
  jobs_["10"].state = "TIMEOUT";
  look();
  EXPECT_EQ(ran("sbatch"), 1);
}

/// Its last node died while the script was copying out.
TEST_F(RunRoundTest, WhatItsSupervisorFinishedIsComplete) {
  const auto dir = add("r", "10");
  look();
  ASSERT_TRUE(mark_finished({.path = dir}, "10"));
  jobs_["10"].state = "NODE_FAIL";
  look();
  EXPECT_EQ(ran("sbatch"), 0);
  EXPECT_TRUE(run("r").over);
  EXPECT_EQ(run("r").decision, "");
}

/// Slurm requeued the job: what it saved in its first start is no progress of its last.
TEST_F(RunRoundTest, ACheckpointCountsSinceTheJobsLastStart) {
  const auto dir = add("r", "10");
  look();
  save_checkpoint(dir);
  jobs_["10"].state = "TIMEOUT";
  jobs_["10"].start = "2033-01-01T00:00:00";
  look();
  EXPECT_EQ(ran("sbatch"), 0);
  EXPECT_THAT(run("r").decision, HasSubstr("before it saved a checkpoint"));
}

}  // namespace
}  // namespace dllaunch
