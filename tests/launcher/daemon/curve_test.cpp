#include "launcher/daemon/curve.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdint>
#include <filesystem>
#include <fstream>

#include "tests/support/temporary_folder.hpp"

namespace dllaunch {
namespace {

class CurveTest : public testing::Test {
 protected:
  void write(int steps, int padding = 0) const {
    std::ofstream file(path());
    for (int i = 1; i <= steps; ++i) {
      file << R"({"time": 1, "event": "step", "epoch": 1, "step": )" << i << R"(, "loss": )"
           << 1.0 / i << R"(, "more": ")" << std::string(static_cast<std::size_t>(padding), 'x')
           << "\"}\n";
      if (i % 100 == 0)
        file << R"({"time": 1, "event": "epoch", "epoch": )" << i / 100
             << R"(, "val_accuracy": 0.5})"
             << "\n";
    }
  }
  std::string path() const { return folder_.path() + "/events.jsonl"; }
  TemporaryFolder folder_;
};

TEST_F(CurveTest, NoFileNoCurve) {
  EXPECT_TRUE(read_curve(path(), 10).steps.empty());
  std::ofstream(path()).close();
  EXPECT_TRUE(read_curve(path(), 10).steps.empty());
  std::filesystem::remove(path());
  std::filesystem::create_directory(path());
  EXPECT_TRUE(read_curve(path(), 10).steps.empty());
}

TEST_F(CurveTest, AShortOneIsWhole) {
  write(5);
  const auto curve = read_curve(path(), 10);
  ASSERT_EQ(curve.steps.size(), 5u);
  EXPECT_EQ(curve.steps[0].step, 1);
  EXPECT_EQ(curve.steps[4].loss, 0.2);
}

TEST_F(CurveTest, ALongerOneIsThinnedOutAndKeepsItsEnd) {
  write(1000);
  const auto curve = read_curve(path(), 240);
  ASSERT_EQ(curve.steps.size(), 240u);
  EXPECT_EQ(curve.steps.back().step, 1000);
  EXPECT_EQ(curve.epochs.size(), 10u);
  for (std::size_t i = 1; i < curve.steps.size(); ++i)
    EXPECT_LT(curve.steps[i - 1].step, curve.steps[i].step);
}

TEST_F(CurveTest, WhatWasTrainedTwiceIsShownOnce) {
  write(5);
  std::ofstream(path(), std::ios::app)
      << R"({"time": 2, "event": "step", "epoch": 1, "step": 3, "loss": 9})"
      << "\n";
  const auto curve = read_curve(path(), 10);
  ASSERT_EQ(curve.steps.size(), 3u);
  EXPECT_EQ(curve.steps[2].step, 3);
  EXPECT_EQ(curve.steps[2].loss, 9);
}

/// By all of this process so far.
std::uint64_t bytes_read() {
  std::ifstream file("/proc/self/io");
  std::string name;
  std::uint64_t count = 0;
  file >> name >> count;
  return count;
}

TEST_F(CurveTest, AHugeOneCostsNoMore) {
  write(100'000, /*padding=*/100);
  ASSERT_GT(std::filesystem::file_size(path()), 15u << 20U);
  const auto before = bytes_read();
  const auto curve = read_curve(path(), 240);
  EXPECT_LT(bytes_read() - before, 4u << 20U) << "a quarter of it";
  EXPECT_GT(curve.steps.size(), 200u);
  EXPECT_LE(curve.steps.size(), 240u);
  EXPECT_GT(curve.steps.back().step, 99'000);
  for (std::size_t i = 1; i < curve.steps.size(); ++i)
    EXPECT_LT(curve.steps[i - 1].step, curve.steps[i].step);
}

TEST_F(CurveTest, LinesLongerThanALook) {
  write(300, /*padding=*/20'000);
  EXPECT_TRUE(read_curve(path(), 240).steps.size() <= 240u);
}

}  // namespace
}  // namespace dllaunch
