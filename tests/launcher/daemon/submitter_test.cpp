#include "launcher/daemon/submitter.hpp"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/file.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "launcher/run_dir.hpp"
#include "tests/launcher/stored_runs.hpp"

namespace dllaunch {
namespace {

using testing::Contains;
using testing::HasSubstr;
using testing::StartsWith;

/// Slurm as the daemon meets it: jobs with comments, that come into being by sbatch.
class SubmitterTest : public testing::Test {
 protected:
  void SetUp() override {
    store_ = *Store::open(place_.path_of("store.db"), 1);
    dir_ = place_.store({.folder = "r", .job_id = "7", .status = "timeout"});
    script("#SBATCH --comment=mine\n#SBATCH --exclude=n[8-9]\n");
    run_ = {.dir = dir_, .name = "r", .launcher = "slurm", .state = "timeout", .job_id = "7"};
    run_.id = *store_->save(run_);
    place_.world.programs = {"sbatch", "squeue", "sacct"};
    place_.world.respond = [this](const auto& argv) { return slurm(argv); };
  }
  void script(const std::string& lines) const {
    std::ofstream(dir_ + "/job.sbatch") << "#!/bin/bash\n" << lines << "\ntrue\n";
  }

  std::optional<Result<CommandOutput>> slurm(const std::vector<std::string>& argv) {
    if (argv[0] == "sbatch") {
      submitted_ = argv;
      const std::string comment = argv[2].substr(std::string("--comment=").size());
      if (takes_) jobs_ += std::to_string(next_) + "|" + comment + "\n";
      if (answer_) return *answer_;
      return CommandOutput{.exit_code = 0, .out = std::to_string(next_++) + "\n", .err = ""};
    }
    if (argv[0] == "squeue") {
      if (silent_) return CommandOutput{.exit_code = 1, .out = "", .err = "slurm_load_jobs error"};
      return CommandOutput{.exit_code = 0, .out = jobs_, .err = ""};
    }
    if (argv[0] == "sacct") return CommandOutput{.exit_code = 0, .out = past_, .err = ""};
    return std::nullopt;
  }
  Submitter submitter(double settle_s = 20) {
    return {place_.world, *store_, {.folder = place_.path_of("")}, settle_s};
  }
  /// What a daemon that was killed before its sbatch leaves behind.
  Submission intend(double at_s) {
    Submission intent{.token = new_token(), .run = run_.id, .reason = "why", .intended_s = at_s};
    run_.judged = "7";
    EXPECT_TRUE(store_->decide({.run = run_, .submissions = {intent}, .notice = {}}));
    return intent;
  }
  RunRecord stored() { return **store_->find("r"); }
  int count_sbatch() const {
    return static_cast<int>(std::count_if(place_.world.ran.begin(), place_.world.ran.end(),
                                          [](const auto& argv) { return argv[0] == "sbatch"; }));
  }

  RunPlace place_;
  std::unique_ptr<Store> store_;
  std::string dir_;
  RunRecord run_;
  std::vector<std::string> submitted_;
  int next_ = 8;
  std::string jobs_ = "7|dllaunch:0000000000000001\n";
  std::string past_;
  bool takes_ = true;
  bool silent_ = false;
  std::optional<Result<CommandOutput>> answer_;
};

TEST_F(SubmitterTest, SubmitsUnderItsToken) {
  const auto sent = submitter().submit(run_, "a node failed", 100);
  ASSERT_TRUE(sent) << sent.error().what;
  EXPECT_EQ(sent->state, SubmissionState::submitted);
  ASSERT_EQ(submitted_.size(), 4u);
  EXPECT_EQ(submitted_[2], "--comment=mine " + sent->token);
  EXPECT_EQ(submitted_[3], dir_ + "/job.sbatch");
  EXPECT_EQ(run_, stored());
  EXPECT_EQ(run_.job_id, "8");
  EXPECT_EQ(run_.judged, "7");
  EXPECT_EQ(run_.submissions, 1);
  EXPECT_FALSE(run_.over);
  EXPECT_EQ(*place_.world.read_file(dir_ + "/job.id"), "8\n");
  EXPECT_FALSE(std::filesystem::exists(dir_ + "/summary.json"));
  EXPECT_TRUE(store_->open_submissions()->empty());
  EXPECT_EQ((*store_->next_notice())->event, "submitted");
}

TEST_F(SubmitterTest, LeavesOutNodesThatFailedTwice) {
  for (const char* job : {"5", "6"}) ASSERT_TRUE(store_->node_failed("n1", job, 90));
  const auto sent = submitter().submit(run_, "a node failed", 100);
  ASSERT_TRUE(sent);
  EXPECT_THAT(submitted_, Contains("--exclude=n[8-9],n1"));
  EXPECT_EQ((*store_->submissions_of(run_.id, 1))[0].exclude, "n1");
}

TEST_F(SubmitterTest, NotWhileSomebodyFollowsOrAfterSomebodyDidIt) {
  {
    const auto lock = RunLock::take({.path = dir_});
    EXPECT_FALSE(submitter().submit(run_, "why", 100));
  }
  std::ofstream(dir_ + "/job.id") << "77\n";
  const auto late = submitter().submit(run_, "why", 100);
  ASSERT_FALSE(late);
  EXPECT_THAT(late.error().what, HasSubstr("has another job by now, 77"));
  EXPECT_EQ(count_sbatch(), 0);
  EXPECT_TRUE(store_->submissions_of(run_.id, 9)->empty());
}

TEST_F(SubmitterTest, ARefusalIsFinal) {
  takes_ = false;
  answer_ = CommandOutput{.exit_code = 1, .out = "", .err = "sbatch: error: no such partition"};
  const auto sent = submitter().submit(run_, "why", 100);
  ASSERT_TRUE(sent);
  EXPECT_EQ(sent->state, SubmissionState::refused);
  EXPECT_THAT(stored().decision, HasSubstr("no such partition"));
  EXPECT_TRUE(std::filesystem::exists(dir_ + "/summary.json")) << "put back";
  EXPECT_TRUE(store_->open_submissions()->empty());
}

/// What fails after the intent is on the disk leaves it there, for recover() alone.
TEST_F(SubmitterTest, AnErrorAfterTheIntentLeavesItOpen) {
  std::filesystem::remove(dir_ + "/job.sbatch");
  auto one = submitter();
  EXPECT_FALSE(one.submit(run_, "why", 100));
  EXPECT_EQ(run_, stored());
  EXPECT_EQ(run_.state, state_submitting);
  EXPECT_EQ(run_.judged, "7");
  EXPECT_EQ(store_->open_submissions()->size(), 1u);
  script("");
  EXPECT_THAT(one.recover(130), testing::ElementsAre(run_.id));
  EXPECT_EQ(count_sbatch(), 1);
}

/// sbatch gave up, but the controller had taken the job.
TEST_F(SubmitterTest, AnAnswerThatGotLostIsFoundByTheToken) {
  answer_ = CommandOutput{.exit_code = 1,
                          .out = "",
                          .err = "Batch job submission failed: Socket timed out on send/recv"};
  auto one = submitter();
  const auto sent = one.submit(run_, "why", 100);
  ASSERT_TRUE(sent);
  EXPECT_EQ(sent->state, SubmissionState::intended);
  EXPECT_THAT(one.recover(101), testing::ElementsAre(run_.id));
  EXPECT_EQ(stored().job_id, "8");
  EXPECT_EQ(count_sbatch(), 1);
  EXPECT_TRUE(one.recover(102).empty());
}

TEST_F(SubmitterTest, TheNextDaemonFindsTheJobOfTheOneThatDied) {
  const auto intent = intend(100);
  jobs_ += "41|mine " + intent.token + "\n";
  EXPECT_THAT(submitter().recover(100.1), testing::ElementsAre(run_.id));
  EXPECT_EQ(stored().job_id, "41");
  EXPECT_EQ(*place_.world.read_file(dir_ + "/job.id"), "41\n");
  EXPECT_EQ(count_sbatch(), 0);
}

TEST_F(SubmitterTest, AccountingKnowsWhatTheControllerForgot) {
  const auto intent = intend(100);
  past_ = "40|sbatch other\n41|sbatch --parsable --comment=" + intent.token + " /x\n";
  EXPECT_THAT(submitter().recover(5000), testing::ElementsAre(run_.id));
  EXPECT_EQ(stored().job_id, "41");
}

/// Where a site takes comments away, the script has written its number.
TEST_F(SubmitterTest, TheScriptsOwnWordCountsToo) {
  intend(100);
  std::ofstream(dir_ + "/job.id") << "43\n";
  EXPECT_THAT(submitter().recover(5000), testing::ElementsAre(run_.id));
  EXPECT_EQ(stored().job_id, "43");
  EXPECT_EQ(count_sbatch(), 0);
}

TEST_F(SubmitterTest, WhatWasNeverSentIsSentWhenNothingCanTurnUpAnyMore) {
  const auto intent = intend(100);
  auto one = submitter(20);
  EXPECT_TRUE(one.recover(110).empty());
  EXPECT_EQ(count_sbatch(), 0);
  EXPECT_THAT(one.recover(121), testing::ElementsAre(run_.id));
  EXPECT_EQ(count_sbatch(), 1);
  const auto all = *store_->submissions_of(run_.id, 9);
  ASSERT_EQ(all.size(), 2u);
  EXPECT_EQ(all[0].state, SubmissionState::submitted);
  EXPECT_EQ(all[1].token, intent.token);
  EXPECT_EQ(all[1].state, SubmissionState::never_sent);
  EXPECT_EQ(stored().job_id, "8");
}

TEST_F(SubmitterTest, NothingIsConcludedFromSilence) {
  intend(100);
  silent_ = true;
  EXPECT_TRUE(submitter().recover(100'000).empty());
  EXPECT_EQ(count_sbatch(), 0);
  EXPECT_EQ(store_->open_submissions()->size(), 1u);
}

/// An sbatch that outlived its daemon holds the lock it inherited.
TEST_F(SubmitterTest, WaitsForAnSbatchThatOutlivedItsDaemon) {
  intend(100);
  auto one = submitter(20);
  const int fd = open((place_.path_of("") + "/submit.lock").c_str(), O_RDWR | O_CREAT, 0600);
  ASSERT_EQ(flock(fd, LOCK_EX), 0);
  EXPECT_TRUE(one.recover(200).empty());
  EXPECT_TRUE(place_.world.ran.empty()) << "nothing is asked meanwhile";
  close(fd);
  EXPECT_TRUE(one.recover(210).empty()) << "it ended a moment ago";
  EXPECT_THAT(one.recover(221), testing::ElementsAre(run_.id));
}

TEST_F(SubmitterTest, TokensDiffer) {
  EXPECT_THAT(new_token(), StartsWith("dllaunch:"));
  EXPECT_NE(new_token(), new_token());
}

}  // namespace
}  // namespace dllaunch
