#include "launcher/os/starter_process.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <csignal>
#include <thread>

namespace dllaunch {
namespace {

using testing::HasSubstr;

Result<StarterProcess> shell(const std::string& script) {
  return StarterProcess::start("/bin/sh", {"sh", "-c", script}, {{"GREETING", "hello"}});
}

std::optional<int> end_of(StarterProcess& starter) {
  for (int i = 0; i < 6000; ++i) {
    starter.pass_on_output();
    if (const auto code = starter.poll()) return code;
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  return std::nullopt;
}

TEST(StarterProcess, ItsWordsAreKeptAndPassedOn) {
  testing::internal::CaptureStderr();
  auto starter = shell("echo $GREETING >&2; echo result; exit 7");
  ASSERT_TRUE(starter);
  EXPECT_EQ(end_of(*starter), 7);
  starter->pass_on_output(/*ended=*/true);
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "hello\n");
  EXPECT_EQ(starter->output(), "hello\n") << "results are not its to keep";
}

/// The first words tell the cause, the last how it ended.
TEST(StarterProcess, OfMuchTheBeginningAndTheEndAreKept) {
  testing::internal::CaptureStderr();
  auto starter = shell("echo first >&2; seq 200000 >&2; echo last >&2");
  ASSERT_TRUE(starter);
  EXPECT_EQ(end_of(*starter), 0);
  starter->pass_on_output(/*ended=*/true);
  EXPECT_GT(testing::internal::GetCapturedStderr().size(), 1'000'000u);
  EXPECT_LE(starter->output().size(), std::size_t{2 * 65536});
  EXPECT_TRUE(starter->output().starts_with("first\n"));
  EXPECT_TRUE(starter->output().ends_with("last\n"));
}

TEST(StarterProcess, WhoHoldsItsErrorOutputIsNotWaitedFor) {
  auto starter = shell("sleep 60 & exit 3");
  ASSERT_TRUE(starter);
  const auto began = std::chrono::steady_clock::now();
  EXPECT_EQ(end_of(*starter), 3);
  starter->pass_on_output(/*ended=*/true);
  EXPECT_LT(std::chrono::steady_clock::now() - began, std::chrono::seconds(30));
  starter->kill_group();
}

TEST(StarterProcess, IsKilledWithAllThatItStarted) {
  testing::internal::CaptureStderr();
  auto starter = shell("trap '' TERM; sleep 60 & echo ready >&2; sleep 60");
  ASSERT_TRUE(starter);
  for (int i = 0; i < 6000 && starter->output().empty(); ++i) {
    starter->pass_on_output();
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  testing::internal::GetCapturedStderr();
  starter->send(SIGTERM);
  EXPECT_FALSE(starter->poll());
  starter->kill_group();
  EXPECT_EQ(end_of(*starter), 128 + SIGKILL);
}

TEST(StarterProcess, AProgramThatIsNotThereIsAnError) {
  const auto starter = StarterProcess::start("/nowhere/srun", {"srun"}, {});
  ASSERT_FALSE(starter);
  EXPECT_EQ(starter.error().kind, ErrorKind::unavailable);
}

}  // namespace
}  // namespace dllaunch
