#include "launcher/supervise/stage_holder.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <csignal>
#include <string>

namespace dllaunch {
namespace {

/// A child that reads until its input is closed, and one that has nothing to do with it.
class StageHolders : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_EQ(pipe(ends_.data()), 0);
    keeper_ = fork();
    if (keeper_ == 0) {
      close(ends_[1]);
      char byte = 0;
      while (read(ends_[0], &byte, 1) > 0) {
      }
      usleep(200'000);  // removes what it kept
      _exit(0);
    }
    close(ends_[0]);
    other_ = fork();
    if (other_ == 0) _exit(0);
  }
  std::string words() const { return std::to_string(ends_[1]) + ":" + std::to_string(keeper_); }

  std::array<int, 2> ends_{};
  pid_t keeper_ = 0;
  pid_t other_ = 0;
};

/// A holder that has already exited is not waited for.
TEST_F(StageHolders, IsWaitedForWhenItsInputIsClosed) {
  const auto stage_holder = StageHolder::from(words());
  ASSERT_TRUE(stage_holder);
  EXPECT_EQ(fcntl(ends_[1], F_GETFD), FD_CLOEXEC);
  const auto began = std::chrono::steady_clock::now();
  stage_holder->let_go();
  EXPECT_GT(std::chrono::steady_clock::now() - began, std::chrono::milliseconds(150));
  EXPECT_LT(std::chrono::steady_clock::now() - began, std::chrono::seconds(20));
  EXPECT_NE(kill(keeper_, 0), 0) << "reaped";
  EXPECT_EQ(kill(other_, 0), 0) << "not ours";
}

TEST_F(StageHolders, WhatIsNoPipeIsRefused) {
  const int file = open("/dev/null", O_WRONLY);
  const auto pid = std::to_string(keeper_);
  for (const auto& wrong :
       {std::to_string(file) + ":" + pid, "999:" + pid, std::string("9"), std::string(":1"),
        std::to_string(ends_[1]) + ":", words() + "x", std::string("-1:5"), std::string("x")}) {
    const auto stage_holder = StageHolder::from(wrong);
    ASSERT_FALSE(stage_holder) << wrong;
    EXPECT_EQ(stage_holder.error().kind, ErrorKind::bad_request);
  }
  close(file);
  close(ends_[1]);
}

TEST(StageHolder, ThereMayBeNone) {
  const auto stage_holder = StageHolder::from("");
  ASSERT_TRUE(stage_holder);
  stage_holder->close_input();
  stage_holder->let_go();
}

}  // namespace
}  // namespace dllaunch
