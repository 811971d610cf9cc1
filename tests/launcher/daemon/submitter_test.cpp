#include "launcher/daemon/submitter.hpp"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/file.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "launcher/launch/submission.hpp"
#include "launcher/run/kept_files.hpp"
#include "launcher/run/run_dir.hpp"
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
    store_ = *Store::open(paths_.path_of("store.db"), 1);
    dir_ = paths_.store({.folder = "r", .job_id = "7", .status = "timeout"});
    script("#SBATCH --comment=mine\n#SBATCH --exclude=n[8-9]\n");
    run_ = {.dir = dir_, .name = "r", .launcher = "slurm", .state = "timeout", .job_id = "7"};
    run_.id = *store_->save(run_);
    paths_.system.programs = {"sbatch", "squeue", "sacct"};
    paths_.system.respond = [this](const auto& argv) { return slurm(argv); };
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
    if (argv[0] == "scancel") {
      cancelled_.push_back(argv.back());
      return CommandOutput{.exit_code = 0, .out = "", .err = ""};
    }
    if (argv[0] == "sacct")
      return CommandOutput{.exit_code = accounting_error_.empty() ? 0 : 1,
                           .out = accounting_error_.empty() ? past_ : "",
                           .err = accounting_error_};
    return std::nullopt;
  }
  Submitter submitter(double settle_s = 20) {
    return {paths_.system, *store_, {.folder = paths_.path_of("")}, settle_s};
  }
  /// What a daemon that was killed before its sbatch leaves behind.
  Submission intend(double at_s) {
    Submission intent{
        .token = new_token(), .run = run_.id, .judged = "7", .reason = "why", .intended_s = at_s};
    run_.judged = "7";
    EXPECT_TRUE(store_->decide({.run = run_, .submissions = {intent}, .notice = {}}));
    return intent;
  }
  RunRecord stored() { return **store_->find("r"); }
  int count_sbatch() const {
    return static_cast<int>(std::count_if(paths_.system.ran.begin(), paths_.system.ran.end(),
                                          [](const auto& argv) { return argv[0] == "sbatch"; }));
  }

  RunPlace paths_;
  std::unique_ptr<Store> store_;
  std::string dir_;
  RunRecord run_;
  std::vector<std::string> submitted_;
  std::vector<std::string> cancelled_;
  int next_ = 8;
  std::string jobs_ = "7|dllaunch:0000000000000001\n";
  std::string past_;
  std::string accounting_error_;
  bool takes_ = true;
  bool silent_ = false;
  std::optional<Result<CommandOutput>> answer_;
};

TEST_F(SubmitterTest, SubmitsUnderItsToken) {
  const auto sent = submitter().submit(run_, run_, {"a node failed"}, 100);
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
  EXPECT_EQ(*paths_.system.read_file(dir_ + "/job.id"), "8\n");
  EXPECT_FALSE(std::filesystem::exists(dir_ + "/summary.json"));
  EXPECT_TRUE(store_->open_submissions()->empty());
  EXPECT_EQ((*store_->next_notice())->event, "submitted");
}

TEST_F(SubmitterTest, LeavesOutNodesThatFailedTwice) {
  for (const char* job : {"5", "6"}) ASSERT_TRUE(store_->node_failed("n1", job, 90));
  const auto sent = submitter().submit(run_, run_, {"a node failed"}, 100);
  ASSERT_TRUE(sent);
  EXPECT_THAT(submitted_, Contains("--exclude=n[8-9],n1"));
  EXPECT_EQ((*store_->submissions_of(run_.id, 1))[0].exclude, "n1");
}

/// Another user's script would run as this one.
TEST_F(SubmitterTest, SubmitsItsUsersCopyWhereOthersCanReplaceTheRun) {
  std::filesystem::permissions(paths_.path_of(""), static_cast<std::filesystem::perms>(0755));
  std::filesystem::permissions(dir_, std::filesystem::perms::all);
  const auto refused = submitter().submit(run_, run_, {"a node failed"}, 100);
  ASSERT_TRUE(refused) << refused.error().what;
  EXPECT_EQ(refused->state, SubmissionState::refused);
  EXPECT_THAT(refused->message, HasSubstr("can be written by others: nothing is executed from"));
  EXPECT_EQ(count_sbatch(), 0);
  EXPECT_TRUE(std::filesystem::exists(dir_ + "/summary.json"));
  const RunDir copies{.path = kept_folder(paths_.system, dir_, /*make=*/true)};
  ASSERT_FALSE(copies.path.empty());
  for (const auto& file : {copies.plan_json(), copies.sbatch_script()})
    std::ofstream(file) << "#!/bin/bash\n#SBATCH --comment=own\n";
  const auto sent = submitter().submit(run_, run_, {"a node failed"}, 200);
  ASSERT_TRUE(sent) << sent.error().what;
  EXPECT_EQ(submitted_[2], "--comment=own " + sent->token);
  EXPECT_EQ(submitted_[3], copies.sbatch_script());
}

/// Relative names in sbatch_extra meant the folder of the first submission.
TEST_F(SubmitterTest, GoesBackToTheFolderOfTheScript) {
  script("cd -- '/home/me/my '\\''work' || exit 3\n");
  ASSERT_TRUE(submitter().submit(run_, run_, {"why"}, 100));
  EXPECT_THAT(submitted_, Contains("--chdir=/home/me/my 'work"));
  script("#SBATCH --chdir=/mine\ncd -- /home/me || exit 3\n");
  std::ofstream(dir_ + "/job.id") << run_.job_id << "\n";
  ASSERT_TRUE(submitter().submit(run_, run_, {"why"}, 100));
  EXPECT_THAT(submitted_, testing::Not(Contains(StartsWith("--chdir"))));
}

TEST_F(SubmitterTest, NotWhileTheRunIsFollowedOrAfterItWasResubmitted) {
  {
    const auto lock = RunLock::take({.path = dir_});
    EXPECT_FALSE(submitter().submit(run_, run_, {"why"}, 100));
  }
  std::ofstream(dir_ + "/job.id") << "77\n";
  const auto late = submitter().submit(run_, run_, {"why"}, 100);
  ASSERT_FALSE(late);
  EXPECT_THAT(late.error().what, HasSubstr("now has another job, 77"));
  EXPECT_EQ(count_sbatch(), 0);
  EXPECT_TRUE(store_->submissions_of(run_.id, 9)->empty());
}

TEST_F(SubmitterTest, ARefusalLeavesTheRunAsItWas) {
  takes_ = false;
  answer_ =
      CommandOutput{.exit_code = 1,
                    .out = "",
                    .err = "sbatch: error: Batch job submission failed: Invalid partition name"};
  const auto sent = submitter().submit(run_, run_, {"why"}, 100);
  ASSERT_TRUE(sent);
  EXPECT_EQ(sent->state, SubmissionState::refused);
  EXPECT_THAT(stored().decision, HasSubstr("Invalid partition"));
  EXPECT_EQ(stored().judged, "") << "the next daemon judges that end again";
  EXPECT_EQ(stored().submissions, 0);
  EXPECT_EQ(stored().state, "timeout");
  EXPECT_TRUE(std::filesystem::exists(dir_ + "/summary.json")) << "put back";
  EXPECT_TRUE(store_->open_submissions()->empty());
}

/// What fails after the intent is on the disk leaves it there, for recover() alone.
TEST_F(SubmitterTest, AnErrorAfterTheIntentLeavesItOpen) {
  std::filesystem::remove(dir_ + "/job.sbatch");
  auto one = submitter();
  EXPECT_FALSE(one.submit(run_, run_, {"why"}, 100));
  EXPECT_EQ(run_, stored());
  EXPECT_EQ(run_.state, state_submitting);
  EXPECT_EQ(run_.judged, "7");
  EXPECT_EQ(store_->open_submissions()->size(), 1u);
  script("");
  EXPECT_TRUE(one.recover(110).empty());
  EXPECT_THAT(one.recover(131), testing::ElementsAre(run_.id));
  EXPECT_EQ(count_sbatch(), 1);
}

/// sbatch gave up, but the controller had taken the job.
TEST_F(SubmitterTest, AnAnswerThatGotLostIsFoundByTheToken) {
  answer_ = CommandOutput{.exit_code = 1,
                          .out = "",
                          .err = "Batch job submission failed: Socket timed out on send/recv"};
  auto one = submitter();
  const auto sent = one.submit(run_, run_, {"why"}, 100);
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
  EXPECT_EQ(*paths_.system.read_file(dir_ + "/job.id"), "41\n");
  EXPECT_EQ(count_sbatch(), 0);
}

TEST_F(SubmitterTest, AccountingKnowsWhatTheControllerForgot) {
  const auto intent = intend(100);
  past_ = "40|sbatch other\n41|sbatch --parsable --comment=" + intent.token + " /x\n";
  EXPECT_THAT(submitter().recover(5000), testing::ElementsAre(run_.id));
  EXPECT_EQ(stored().job_id, "41");
}

/// Where a site takes comments away, the queue still has the script's name.
TEST_F(SubmitterTest, TheScriptsNameInTheQueueCountsToo) {
  intend(100);
  const auto script = "||" + dir_ + "/job.sbatch\n";
  jobs_ = "6" + script + "7" + script + "12||/elsewhere/job.sbatch\n";
  auto one = submitter();
  EXPECT_TRUE(one.recover(101).empty()) << "older ones are none of this submission";
  jobs_ += "11" + script;
  EXPECT_THAT(one.recover(102), testing::ElementsAre(run_.id));
  EXPECT_EQ(stored().job_id, "11");
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
  // However long ago it was meant: only now we know that no sbatch is left.
  EXPECT_TRUE(one.recover(110).empty());
  EXPECT_TRUE(one.recover(129).empty());
  EXPECT_EQ(count_sbatch(), 0);
  EXPECT_THAT(one.recover(131), testing::ElementsAre(run_.id));
  EXPECT_EQ(count_sbatch(), 1);
  const auto all = *store_->submissions_of(run_.id, 9);
  ASSERT_EQ(all.size(), 2u);
  EXPECT_EQ(all[0].state, SubmissionState::submitted);
  EXPECT_EQ(all[1].token, intent.token);
  EXPECT_EQ(all[1].state, SubmissionState::never_sent);
  EXPECT_EQ(stored().job_id, "8");
}

TEST_F(SubmitterTest, WhatItsUserCancelledMeanwhileIsNotSent) {
  intend(100);
  ASSERT_TRUE(store_->wish(run_.id, "cancel", 105));
  auto one = submitter(20);
  EXPECT_TRUE(one.recover(110).empty());
  EXPECT_THAT(one.recover(131), testing::ElementsAre(run_.id));
  EXPECT_EQ(count_sbatch(), 0);
  EXPECT_TRUE(stored().over);
  EXPECT_EQ(stored().state, "cancelled");
  EXPECT_EQ(stored().wish, "");
  EXPECT_TRUE(store_->open_submissions()->empty());
}

TEST_F(SubmitterTest, NothingIsConcludedFromSilence) {
  intend(100);
  auto one = submitter();
  silent_ = true;
  EXPECT_TRUE(one.recover(110).empty());
  EXPECT_TRUE(one.recover(100'000).empty());
  silent_ = false;
  // Accounting may know a job that the controller forgot: its silence is none the better.
  accounting_error_ = "sacct: error: slurmdbd: Connection refused";
  EXPECT_TRUE(one.recover(200'000).empty());
  EXPECT_EQ(count_sbatch(), 0);
  EXPECT_EQ(store_->open_submissions()->size(), 1u);
  accounting_error_ = "Slurm accounting storage is disabled";
  EXPECT_TRUE(one.recover(300'000).empty()) << "the first answer may be before the request";
  EXPECT_THAT(one.recover(300'021), testing::ElementsAre(run_.id));
}

/// Killed, cut off, without a word: the controller may have taken the job all the same.
TEST_F(SubmitterTest, OnlyTheControllersNoIsARefusal) {
  const std::string verdict = "sbatch: error: Batch job submission failed: ";
  for (const std::string& words :
       {std::string(), std::string("Killed"), verdict + "Unable to contact slurm controller",
        verdict + "Zero Bytes were transmitted or received", verdict + "Message receive failure",
        verdict + "Communication connection failure", verdict + "Connection reset by peer",
        std::string("sbatch: error: of a wrapper")}) {
    answer_ = CommandOutput{.exit_code = words.empty() ? 137 : 1, .out = "", .err = words};
    auto run = run_;
    const auto sent = submitter().submit(run, run_, {"why"}, 100);
    ASSERT_TRUE(sent);
    EXPECT_EQ(sent->state, SubmissionState::intended) << words;
  }
}

/// The controller hung for longer than anybody waits, and took the job after all.
TEST_F(SubmitterTest, AJobThatTurnsUpLateIsOneTooMany) {
  const auto intent = intend(100);
  auto one = submitter(20);
  EXPECT_TRUE(one.recover(110).empty());
  EXPECT_THAT(one.recover(131), testing::ElementsAre(run_.id));
  EXPECT_EQ(stored().job_id, "8");
  jobs_ += "50|mine " + intent.token + "\n";
  EXPECT_TRUE(one.recover(200).empty());
  EXPECT_EQ(cancelled_, (std::vector<std::string>{"50"}));
  EXPECT_EQ(stored().job_id, "8");
}

/// `dllaunch run --run-dir` beside a submission of ours whose outcome is unknown.
TEST_F(SubmitterTest, AJobOfTheUsersOwnGoesFirst) {
  const auto intent = intend(100);
  jobs_ += "41|mine " + intent.token + "\n";
  std::ofstream(dir_ + "/job.id") << "43\n";
  EXPECT_THAT(submitter().recover(101), testing::ElementsAre(run_.id));
  EXPECT_EQ(cancelled_, (std::vector<std::string>{"41"}));
  EXPECT_EQ(stored().job_id, "43");
  EXPECT_EQ(*paths_.system.read_file(dir_ + "/job.id"), "43\n");
  EXPECT_TRUE(store_->open_submissions()->empty());
}

/// Another process owns the run and has not written a job number yet.
TEST_F(SubmitterTest, WaitsForTheOwnerOfTheRun) {
  const auto intent = intend(100);
  jobs_ += "41|mine " + intent.token + "\n";
  auto one = submitter();
  {
    const auto lock = RunLock::take({.path = dir_});
    EXPECT_TRUE(one.recover(101).empty());
  }
  EXPECT_THAT(one.recover(102), testing::ElementsAre(run_.id));
  EXPECT_EQ(stored().job_id, "41");
}

TEST_F(SubmitterTest, AnSbatchThatNeverSaysAWordIsGivenUp) {
  intend(100);
  takes_ = false;
  answer_ = Error{ErrorKind::timeout, "sbatch did not end within 60 s", ""};
  auto one = submitter(20);
  for (double now_s = 110; now_s < 1000 && !stored().over; now_s += 21) one.recover(now_s);
  EXPECT_TRUE(stored().over);
  EXPECT_EQ(count_sbatch(), 4);
  EXPECT_TRUE(store_->open_submissions()->empty());
  EXPECT_EQ((*store_->next_notice())->event, "gave_up");
}

/// An sbatch that outlived its daemon holds the lock it inherited.
TEST_F(SubmitterTest, WaitsForAnSbatchThatOutlivedItsDaemon) {
  intend(100);
  auto one = submitter(20);
  const int fd = open((paths_.path_of("") + "/submit.lock").c_str(), O_RDWR | O_CREAT, 0600);
  ASSERT_EQ(flock(fd, LOCK_EX), 0);
  EXPECT_TRUE(one.recover(200).empty());
  EXPECT_TRUE(paths_.system.ran.empty()) << "nothing is asked meanwhile";
  close(fd);
  EXPECT_TRUE(one.recover(210).empty()) << "it ended a moment ago";
  EXPECT_TRUE(one.recover(229).empty());
  EXPECT_THAT(one.recover(231), testing::ElementsAre(run_.id));
}

}  // namespace
}  // namespace dllaunch
