#include "launcher/supervise/own_job.hpp"

#include <gtest/gtest.h>

#include "tests/support/fake_system.hpp"

namespace dllaunch {
namespace {

const JobAllocation second = {.job = "13", .group = "1", .leader = "12"};

Attempt looked(const std::string& state, const std::string& reason = "None",
               const JobAllocation& allocation = second, int restarts = 0) {
  FakeSystem system;
  system.answers["scontrol show job 13"] = {
      0,
      "JobId=13 HetJobId=12 HetJobOffset=1 JobName=x\n   JobState=" + state + " Reason=" + reason +
          " Dependency=(null)\n   Requeue=1 Restarts=" + std::to_string(restarts) +
          " BatchFlag=1 Reboot=0 ExitCode=0:15\n",
      ""};
  Attempt attempt{.cause = Cause::failed};
  look_at_own_job(system, allocation, attempt);
  return attempt;
}

TEST(OwnJob, TellsWhatSlurmDidToOneComponent) {
  EXPECT_EQ(looked("CANCELLED").cause, Cause::cancelled);
  EXPECT_EQ(describe(looked("CANCELLED")), "its Slurm job, 12+1, was cancelled");
  EXPECT_EQ(describe(looked("TIMEOUT")), "its Slurm job, 12+1, reached its time limit");
  EXPECT_EQ(looked("COMPLETING", "TimeLimit").cause, Cause::time_limit);
}

// srun says "Slurm job 13 has expired" and exits with 1 before the supervisor gets its TERM.
TEST(OwnJob, TellsThatTheWholeJobIsBeingEnded) {
  const JobAllocation whole = {.job = "13"};
  EXPECT_EQ(looked("COMPLETING", "None", whole).cause, Cause::cancelled);
  EXPECT_EQ(looked("COMPLETING", "TimeLimit", whole).cause, Cause::time_limit);
  EXPECT_EQ(looked("COMPLETING", "NodeDown", whole).cause, Cause::failed) << "a lost node's";
  EXPECT_EQ(looked("COMPLETING", "None", whole, 1).cause, Cause::failed) << "already requeued";
  EXPECT_EQ(looked("RUNNING", "None", whole).cause, Cause::failed);
}

TEST(OwnJob, ARankThatDiedByItselfStaysFailed) {
  EXPECT_EQ(looked("RUNNING").cause, Cause::failed);
  EXPECT_EQ(looked("CANCELLED", "None", second, 1).cause, Cause::failed) << "the next start's";
  EXPECT_EQ(looked("CANCELLED", "None", {.job = "13"}).cause, Cause::failed) << "an ordinary job";
  Attempt completed{.cause = Cause::completed};
  FakeSystem silent;
  look_at_own_job(silent, second, completed);
  EXPECT_EQ(completed.cause, Cause::completed);
  EXPECT_TRUE(silent.ran.empty());
}

}  // namespace
}  // namespace dllaunch
