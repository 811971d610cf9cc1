#include "launcher/daemon/event_watch.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "tests/support/temporary_folder.hpp"

namespace dllaunch {
namespace {

class EventWatchTest : public testing::Test {
 protected:
  void step(int number, double time = 100) const {
    std::ofstream(path(), std::ios::app)
        << R"({"time": )" << time << R"(, "event": "step", "epoch": 1, "step": )" << number
        << R"(, "loss": 0.5})"
        << "\n";
  }
  std::string path() const { return folder_.path() + "/events.jsonl"; }

  TemporaryFolder folder_;
  EventWatch watch_{path(), 50};
};

TEST_F(EventWatchTest, TakesWhatTheFileGrewBy) {
  EXPECT_FALSE(watch_.look());
  step(1);
  EXPECT_TRUE(watch_.look());
  EXPECT_EQ(watch_.progress().step, 1);
  EXPECT_FALSE(watch_.look());
  std::ofstream(path(), std::ios::app) << R"({"time": 100, "event": "st)";
  EXPECT_TRUE(watch_.look());
  EXPECT_EQ(watch_.progress().step, 1);
  std::ofstream(path(), std::ios::app) << R"(ep", "epoch": 1, "step": 2})"
                                       << "\n";
  EXPECT_TRUE(watch_.look());
  EXPECT_EQ(watch_.progress().step, 2);
}

TEST_F(EventWatchTest, OfAMillionStepsTheEndIsEnough) {
  for (int i = 0; i < 20'000; ++i) step(i);
  ASSERT_GT(std::filesystem::file_size(path()), 10 * EventWatch::most_bytes);
  EXPECT_TRUE(watch_.look());
  EXPECT_EQ(watch_.progress().step, 19'999);
  for (int i = 0; i < 5'000; ++i) step(20'000 + i);
  EXPECT_TRUE(watch_.look());
  EXPECT_EQ(watch_.progress().step, 24'999);
}

TEST_F(EventWatchTest, WhatAnEarlierJobWroteDoesNotCount) {
  step(7, /*time=*/10);
  EXPECT_TRUE(watch_.look());
  EXPECT_FALSE(watch_.progress().step);
}

TEST_F(EventWatchTest, AnOrphanOfAnEarlierLifeDoesNotCount) {
  const auto tell = [&](int fencing_token, int number) {
    std::ofstream(path(), std::ios::app)
        << R"({"time": 100, "event": "step", "epoch": 1, "step": )" << number
        << R"(, "generation": )" << fencing_token << "}\n";
  };
  tell(2, 5);
  tell(1, 900);
  EXPECT_TRUE(watch_.look());
  EXPECT_EQ(watch_.progress().step, 5);
}

TEST_F(EventWatchTest, AFileThatBeginsAnew) {
  for (int i = 0; i < 100; ++i) step(i);
  watch_.look();
  std::filesystem::remove(path());
  EXPECT_FALSE(watch_.look());
  step(3);
  EXPECT_TRUE(watch_.look());
  EXPECT_EQ(watch_.progress().step, 3);
}

}  // namespace
}  // namespace dllaunch
