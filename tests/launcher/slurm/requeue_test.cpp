#include "launcher/slurm/requeue.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/support/fake_system.hpp"

namespace dllaunch {
namespace {

using std::chrono::milliseconds;
using testing::HasSubstr;

class RequeueTest : public testing::Test {
 protected:
  void SetUp() override {
    job_is("RUNNING", 0);
    n2_is("ALLOCATED");
    system_.answers["scontrol requeue 17"] = {0, "", ""};
  }
  void job_is(const std::string& state, int restarts) {
    system_.answers["scontrol show job 17"] = {
        0,
        "JobId=17 JobName=a\n   JobState=" + state +
            " Reason=None\n   Restarts=" + std::to_string(restarts) + "\n",
        ""};
  }
  void n2_is(const std::string& state) {
    system_.answers["scontrol show node n[1-2]"] = {
        0, "NodeName=n1 State=ALLOCATED\n\nNodeName=n2 State=" + state + "\n", ""};
  }
  /// Pauses do not sleep; each calls `at_a_pause`, which returns true to stop.
  Result<Ok> requeue(const std::function<bool()>& at_a_pause) {
    return dllaunch::requeue(system_, {.job = "17", .nodes = "n[1-2]"},
                             {.silent = silent_,
                              .seconds_left = [this] { return left_; },
                              .waits = [this](const std::string& why) { waits_ = why; },
                              .stopped =
                                  [&](milliseconds) {
                                    ++pauses_;
                                    return at_a_pause();
                                  }});
  }
  long requeued() const {
    return std::count(system_.ran.begin(), system_.ran.end(),
                      std::vector<std::string>{"scontrol", "requeue", "17"});
  }

  FakeSystem system_;
  std::vector<std::string> silent_;
  std::optional<double> left_;
  std::string waits_;
  int pauses_ = 0;
};

TEST_F(RequeueTest, NothingIsInTheWay) {
  EXPECT_TRUE(requeue([] { return false; }));
  EXPECT_EQ(requeued(), 1);
  EXPECT_EQ(pauses_, 0);
}

/// Slurm has not missed it yet, and would never start the job again.
TEST_F(RequeueTest, ANodeThatDidNotAnswerUsIsWaitedFor) {
  silent_ = {"n2"};
  EXPECT_TRUE(requeue([this] {
    EXPECT_EQ(requeued(), 0);
    if (pauses_ == 2) n2_is("ALLOCATED*");
    if (pauses_ == 3) n2_is("DOWN*");
    return false;
  }));
  EXPECT_EQ(pauses_, 3);
  EXPECT_EQ(requeued(), 1);
  EXPECT_EQ(waits_, "node n2 does not answer, and Slurm has not marked it down yet");
}

TEST_F(RequeueTest, NoAnswerAboutTheNodesIsNoAnswer) {
  system_.answers.erase("scontrol show node n[1-2]");
  EXPECT_TRUE(requeue([this] {
    EXPECT_EQ(requeued(), 0);
    n2_is("ALLOCATED");
    return false;
  }));
  EXPECT_EQ(pauses_, 1);
}

TEST_F(RequeueTest, WithoutTimeThereIsNoPatience) {
  n2_is("ALLOCATED*");
  left_ = 3;
  EXPECT_TRUE(requeue([] { return false; }));
  EXPECT_EQ(requeued(), 1);
}

/// Slurm puts the job back itself, and its TERM comes before that can be seen.
TEST_F(RequeueTest, ATermMayBeSlurmsOwn) {
  n2_is("ALLOCATED*");
  EXPECT_TRUE(requeue([this] {
    if (pauses_ == 3) job_is("PENDING", 1);
    return pauses_ == 1;
  }));
  EXPECT_EQ(requeued(), 0);
}

TEST_F(RequeueTest, ARefusalIsAnError) {
  system_.answers["scontrol requeue 17"] = {1, "", "Requested operation is presently disabled\n"};
  const auto done = requeue([] { return false; });
  ASSERT_FALSE(done);
  EXPECT_THAT(done.error().what, HasSubstr("presently disabled"));
}

}  // namespace
}  // namespace dllaunch
