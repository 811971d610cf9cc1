#include "launcher/sweep/trial_end.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "launcher/run/outcome.hpp"
#include "tests/launcher/sample_plans.hpp"
#include "tests/launcher/stored_runs.hpp"

namespace dllaunch {
namespace {

class TrialEnd : public testing::Test {
 protected:
  TrialEnd() {
    job_.sweep.value = "acc=([0-9.]+)";
    dir_ = place_.store({.folder = "a", .job_id = "7"});
    place_.append(dir_, "out/rank-0000-n1.log", "acc=0.5\n");
  }

  /// Of a run with this status; "": without a summary.
  Trial judged(const std::string& status, const Execution& execution) {
    StoredRun run = *unjudged_run(place_.system, dir_, trial_);
    if (!status.empty())
      run.summary = {{"status", status}, {"submission", "job 7"}, {"reason", reason_}};
    if (unseen_ && !status.empty()) run.summary["unseen"] = *unseen_;
    Trial trial = trial_;
    EXPECT_TRUE(judge({.metric = "acc"}, job_, run, execution, trial));
    return trial;
  }

  RunPlace place_;
  Job job_ = run_job();
  std::string dir_;
  Trial trial_;
  std::string reason_ = "so";
  std::optional<bool> unseen_;
};

TEST_F(TrialEnd, OfACompletedRunHasItsNumberWhoeverSawIt) {
  for (const Execution& seen : {Execution{.code = 0}, Execution{.code = 129}, Execution{},
                                Execution{.stopping = true, .code = 0}}) {
    const auto trial = judged("completed", seen);
    EXPECT_EQ(trial.state, TrialState::completed);
    EXPECT_EQ(trial.value(), 0.5);
    EXPECT_EQ(trial.judged, "job 7");
  }
  job_.sweep.value = "no such number ([0-9]+)";
  EXPECT_EQ(judged("completed", {.code = 0}).state, TrialState::failed);
  EXPECT_EQ(judged("completed", {}).reason, "it has no number of acc");
}

TEST_F(TrialEnd, WhatADriverStoppedHasNotFailed) {
  EXPECT_EQ(judged("cancelled", {.stopping = true, .code = 143}).state, TrialState::running);
  EXPECT_EQ(judged("cancelled", {}).state, TrialState::running) << "by a driver that was killed";
  EXPECT_EQ(judged("cancelled", {}).attempts, 0);
  EXPECT_EQ(judged("cancelled", {.code = 1}).state, TrialState::failed) << "by somebody else";
}

TEST_F(TrialEnd, FromOutsideStartsItAgainAndCounts) {
  for (const char* status : {"timeout", "preempted", "node_fail"}) {
    for (const Execution& seen : {Execution{.code = 1}, Execution{}}) {
      const auto trial = judged(status, seen);
      EXPECT_EQ(trial.state, TrialState::running) << status;
      EXPECT_EQ(trial.attempts, 1) << status;
    }
  }
  EXPECT_EQ(judged("", {.code = 137}).reason, "its dllaunch was killed");
  for (const Execution& seen : {Execution{.code = 137}, Execution{}}) {
    unseen_ = true;
    EXPECT_EQ(judged("failed", seen).reason, "its dllaunch was killed") << "in two starts";
    unseen_ = std::nullopt;
    reason_ = killed_unseen;
    EXPECT_EQ(judged("failed", seen).reason, "its dllaunch was killed") << "an older summary";
  }
  EXPECT_EQ(judged("cancelled", {.overdue = true, .code = 143}).reason, took_too_long);
}

TEST_F(TrialEnd, OfAFailureSaysWhy) {
  EXPECT_EQ(judged("failed", {}).reason, "failed: so");
  EXPECT_EQ(judged("failed", {.code = 137}).reason, "failed: so") << "whoever saw it";
}

/// A full disk takes also the words that would tell of it.
TEST_F(TrialEnd, ByItsStorageStartsItAgain) {
  for (const char* why : {"rank 0 on n1: OSError: [Errno 28] No space left on device",
                          "rank 0 on n1: OSError: [Errno 116] Stale file handle: 'a.pt'"}) {
    reason_ = why;
    const auto trial = judged("failed", {.code = 1});
    EXPECT_EQ(trial.state, TrialState::running) << why;
    EXPECT_EQ(trial.reason, why);
    EXPECT_EQ(trial.attempts, 1);
  }
  EXPECT_EQ(judged("", {.code = 2}).reason,
            "its dllaunch exited with code 2 and could say nothing");
  std::ofstream(dir_ + ".log") << "dllaunch: cannot write plan.json: No space left on device\n";
  EXPECT_EQ(judged("", {.code = 2}).reason, "cannot write plan.json: No space left on device");
  EXPECT_EQ(judged("", {.code = 2}).state, TrialState::running);
  trial_.attempts = 9;
  EXPECT_EQ(judged("", {.code = 2}).state, TrialState::failed) << "it may fill the disk itself";
}

TEST_F(TrialEnd, OfWhichTheOutputCanNeverBeReadFails) {
  const auto log = dir_ + "/out/rank-0000-n1.log";
  std::filesystem::remove(log);
  std::filesystem::create_symlink(log, log);
  const auto trial = judged("completed", {.code = 0});
  EXPECT_EQ(trial.state, TrialState::failed);
  EXPECT_EQ(trial.reason, "cannot read " + log + ": Too many levels of symbolic links");
  EXPECT_EQ(trial.judged, "job 7");
}

/// No file of dllaunch's is that large.
TEST_F(TrialEnd, OfWhichTheRecordIsDamagedIsJudgedAsWithoutOne) {
  std::filesystem::resize_file(dir_ + "/plan.json", std::uintmax_t{17} << 20);
  const auto run = unjudged_run(place_.system, dir_, trial_);
  ASSERT_TRUE(run);
  EXPECT_EQ(stored_status(*run), "");
}

/// `dllaunch status` writes the summary of a job again that a start has set aside.
TEST_F(TrialEnd, IsJudgedOnce) {
  place_.append(dir_, "summary.json", R"({"status": "timeout", "submission": "job 7"})");
  EXPECT_EQ(stored_status(*unjudged_run(place_.system, dir_, trial_)), "timeout");
  trial_.judged = "job 7";
  EXPECT_EQ(stored_status(*unjudged_run(place_.system, dir_, trial_)), "");
  trial_.judged = "job 6";
  EXPECT_EQ(stored_status(*unjudged_run(place_.system, dir_, trial_)), "timeout");
  EXPECT_EQ(stored_status(*unjudged_run(place_.system, dir_ + "/none", trial_)), "");
}

}  // namespace
}  // namespace dllaunch
