// Commands that were asked to save, and died of that, or asked to be started again.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/launcher/supervise/attempts.hpp"

namespace dllaunch {
namespace {

using testing::HasSubstr;

TEST(PolicySaving, ACommandThatTheRequestKillsIsRequeuedOnce) {
  const auto once = decide({killed_by_request(1)}, command, 100);
  EXPECT_EQ(once.next, Next::requeue);
  EXPECT_EQ(once.reason,
            "rank 1 was killed by USR2, which asks it to save: its program on n2 does not handle "
            "it; requeueing");
  const auto twice =
      decide({killed_by_request(1), in_allocation(1, killed_by_request(0))}, command, 100);
  EXPECT_EQ(twice.next, Next::stop);
  EXPECT_EQ(twice.status, RunStatus::timeout);
  EXPECT_EQ(twice.exit_code, 1);
  EXPECT_THAT(twice.reason, HasSubstr("handle it, 2 times in a row without a new checkpoint"));
}

TEST(PolicySaving, WithANewCheckpointOrOtherEndsBetweenItIsRequeuedAgain) {
  const auto later = in_allocation(1, killed_by_request(0));
  EXPECT_EQ(decide({killed_by_request(1), saved(later)}, command, 100).next, Next::requeue);
  EXPECT_EQ(decide({killed_by_request(1), ended(Cause::time_limit, 75), later}, command, 100).next,
            Next::requeue);
  auto of_another_job = killed_by_request(1);
  of_another_job.job = "16";
  EXPECT_EQ(decide({of_another_job, later}, command, 100).next, Next::requeue);
}

TEST(PolicySaving, WhoAsksToBeStartedAgainRepeatsNoError) {
  EXPECT_EQ(decide({exited(0, 75), exited(0, 75)}, command, 1000).next, Next::restart);
  EXPECT_EQ(decide({exited(0, 74), exited(0, 74)}, command, 1000).next, Next::stop);
}

}  // namespace
}  // namespace dllaunch
