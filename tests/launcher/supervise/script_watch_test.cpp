#include "launcher/supervise/script_watch.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "launcher/run/journal.hpp"
#include "tests/support/fake_system.hpp"
#include "tests/support/temporary_folder.hpp"

namespace dllaunch {
namespace {

using testing::HasSubstr;

/// Of a job that was put back once, which is the start that this is.
SlurmJob job(const std::string& nodes, const std::string& state = "RUNNING", int restarts = 1) {
  SlurmJob job;
  job.id = "17";
  job.state = state;
  job.restarts = restarts;
  job.nodes = nodes;
  return job;
}
ScriptNode judged(const SlurmJob& job, const std::string& host = "n1") {
  return judge_script_node(job, {.job = "17", .restarts = 1}, host);
}

TEST(ScriptWatch, WhatSlurmSaysOfTheJobTells) {
  EXPECT_EQ(judged(job("n[1-3]")), ScriptNode::there);
  EXPECT_EQ(judged(job("n[1-3]"), "n4"), ScriptNode::gone);
  EXPECT_EQ(judged(job("n[1-3]"), "n"), ScriptNode::gone) << "names are compared whole";
  EXPECT_EQ(judged(job("n3")), ScriptNode::gone);
  EXPECT_EQ(judged(job("n1", "SUSPENDED")), ScriptNode::there);
}

TEST(ScriptWatch, AFinishedJobIsNotRequeued) {
  EXPECT_EQ(judged(job("n3", "RUNNING", 2)), ScriptNode::settled) << "started again";
  for (const char* state : {"PENDING", "COMPLETING", "CANCELLED by 0", "NODE_FAIL", "TIMEOUT"})
    EXPECT_EQ(judged(job("n3", state)), ScriptNode::settled) << state;
}

TEST(ScriptWatch, WithoutAnAnswerThatMakesSenseNothingIsDone) {
  EXPECT_EQ(judge_script_node(std::nullopt, {.job = "17"}, "n1"), ScriptNode::unknown);
  EXPECT_EQ(judge_script_node(SlurmJob{}, {.job = "17"}, "n1"), ScriptNode::unknown);
  EXPECT_EQ(judged(job("")), ScriptNode::unknown);
  EXPECT_EQ(judged(job("n[1-")), ScriptNode::unknown);
  EXPECT_EQ(judged(job("n3"), ""), ScriptNode::unknown);
}

/// Job 17 on n1 to n3, whose script's node n1 is lost after a few looks.
class Watching : public testing::Test {
 protected:
  void watch(RequeueOn requeue_on = {}) {
    system_.respond =
        [this](const std::vector<std::string>& argv) -> std::optional<Result<CommandOutput>> {
      if (argv[0] == "scancel") {
        over_ = true;
        return CommandOutput{0, "", ""};
      }
      if (argv[1] == "requeue") {
        if (++requeues_ > back_after_) answer_ = {0, "", ""};
        over_ = over_ || answer_.exit_code == 0;
        return answer_;
      }
      if (std::ranges::find(argv, "config") != argv.end()) return std::nullopt;
      if (std::ranges::find(argv, "node") != argv.end())
        return CommandOutput{0, "NodeName=n1 NodeAddr=127.0.0.1 Port=1 State=ALLOCATED\n", ""};
      ++looks_;
      const bool lost = looks_ > lost_after_;
      if (lost && faster_) over_ = true;
      return CommandOutput{
          0,
          std::string("JobId=17 JobName=a\n   JobState=") + (over_ ? "COMPLETING" : "RUNNING") +
              "\n   Restarts=0\n   NodeList=" + (lost ? "n[2-3]" : "n[1-3]") + "\n",
          ""};
    };
    watch_script(system_,
                 {.dir = {.path = folder_.path()},
                  .requeue_on = requeue_on,
                  .allocation = {.job = "17"},
                  .host = "n1",
                  .trains = trains_},
                 {.look = std::chrono::milliseconds(1),
                  .longest = std::chrono::milliseconds(4),
                  .silence_s = 0});
  }
  std::optional<JournalDecision> written() const {
    return read_journal({.path = folder_.path()}).last;
  }
  bool cancelled() const {
    return std::any_of(system_.ran.begin(), system_.ran.end(),
                       [](const auto& argv) { return argv[0] == "scancel"; });
  }

  TemporaryFolder folder_;
  FakeSystem system_;
  CommandOutput answer_ = {0, "", ""};  // to a requeue
  int back_after_ = 1000;               // tries
  int lost_after_ = 3;                  // looks
  bool faster_ = false;                 // another process requeues first
  bool over_ = false;
  bool trains_ = false;
  int looks_ = 0;
  int requeues_ = 0;
};

TEST_F(Watching, AJobThatLostItsScriptGoesBackOnce) {
  watch();
  EXPECT_EQ(requeues_, 1);
  EXPECT_FALSE(cancelled());
  ASSERT_TRUE(written());
  EXPECT_EQ(written()->next, Next::requeue);
  EXPECT_EQ(written()->status, RunStatus::node_fail);
  EXPECT_EQ(written()->reason, "lost node n1, where the job's script ran; requeueing");
}

TEST_F(Watching, OneThatMayNotComeBackIsCancelled) {
  watch({.node_fail = false});
  EXPECT_EQ(requeues_, 0);
  EXPECT_TRUE(cancelled());
  EXPECT_EQ(written()->next, Next::stop);
  EXPECT_THAT(written()->reason, HasSubstr("recovery.requeue_on does not list node_fail"));
}

TEST_F(Watching, NorDoesOneThatSlurmRefusesHoldItsNodes) {
  answer_ = {1, "", "Requested operation is presently disabled\n"};
  watch();
  EXPECT_EQ(requeues_, 3);
  EXPECT_TRUE(cancelled());
  EXPECT_EQ(written()->next, Next::stop);
  EXPECT_THAT(written()->reason, HasSubstr("not requeued: scontrol requeue 17: Requested"));
}

TEST_F(Watching, AControllerThatIsAwayIsAskedAgain) {
  answer_ = {1, "", "slurm_requeue error: Unable to contact slurm controller\n"};
  back_after_ = 9;
  watch();
  EXPECT_EQ(requeues_, 10);
  EXPECT_FALSE(cancelled());
  EXPECT_EQ(written()->next, Next::requeue);
}

TEST_F(Watching, LeavesAJobAloneThatAnotherProcessRequeued) {
  faster_ = true;
  watch();
  EXPECT_EQ(requeues_, 0);
  EXPECT_FALSE(cancelled());
  EXPECT_FALSE(written());
}

TEST_F(Watching, TellsThatTheNodeOfASilentTrainingsScriptDoesNotAnswer) {
  trains_ = true;
  faster_ = true;  // the job ends before anything else is written
  watch();
  const auto waits = read_journal({.path = folder_.path()}).waits;
  ASSERT_TRUE(waits);
  EXPECT_EQ(waits->job, "17");
  EXPECT_THAT(waits->reason, HasSubstr("node n1, where the job's script runs, does not answer; "
                                       "the job is requeued when Slurm has marked it down"));
}

}  // namespace
}  // namespace dllaunch
