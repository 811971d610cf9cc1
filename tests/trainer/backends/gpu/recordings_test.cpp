#include "trainer/backends/gpu/recordings.hpp"

#include <gtest/gtest.h>

#include "trainer/backends/gpu/elementwise_bodies.hpp"
#include "trainer/backends/gpu/launch.hpp"

namespace dllaunch::gpu {
namespace {

/// Adds `by` to a number, through a kernel; counts how often it was asked to.
struct Adder {
  float sum = 0;
  int asked = 0;

  auto of(float by) {
    term = by;
    return [this](GpuStream stream) {
      ++asked;
      launch(stream, 1, Convert<float, float>{&term, &sum, true});
    };
  }
  float term = 0;
};

TEST(Recordings, DoesThenRecordsThenPlays) {
  Adder adder;
  Recordings recordings;
  const std::size_t plays = host_gpus().plays;
  for (int time = 1; time <= 5; ++time) {
    recordings.run({}, adder.of(static_cast<float>(time)));
    EXPECT_EQ(adder.asked, std::min(time, 2));
  }
  EXPECT_EQ(adder.sum, 1 + 2 + 3 + 4 + 5) << "each time once, and with what lies in memory then";
  EXPECT_EQ(host_gpus().plays, plays + 4);
}

TEST(Recordings, KeepsTakesApart) {
  Adder one;
  Adder other;
  Recordings recordings;
  for (int time = 0; time < 3; ++time) {
    recordings.run({.piece = 1, .scale = 0.5}, one.of(1));
    recordings.run({.piece = 1, .scale = 0.25}, other.of(10));
    recordings.run({.piece = 1, .accumulate = true, .scale = 0.5}, other.of(100));
    recordings.run({.piece = 2, .scale = 0.5}, one.of(1000));
  }
  EXPECT_EQ(one.asked, 4);
  EXPECT_EQ(other.asked, 4);
}

TEST(Recordings, ARefusalIsNoFailure) {
  host_gpus().refuses_recording = true;
  Adder adder;
  Recordings recordings;
  testing::internal::CaptureStderr();
  for (int time = 0; time < 4; ++time) recordings.run({}, adder.of(1));
  const std::string said = testing::internal::GetCapturedStderr();
  EXPECT_EQ(adder.sum, 4) << "also that which was to be recorded";
  EXPECT_EQ(said.find("warning: host does not record kernels"), 0) << said;
  EXPECT_EQ(said.find('\n'), said.size() - 1) << "once";
  host_gpus().refuses_recording = false;
}

TEST(Recordings, ForgetsWhatItHas) {
  const std::size_t before = host_gpus().recordings;
  Adder adder;
  {
    Recordings recordings;
    for (int time = 0; time < 2; ++time) recordings.run({}, adder.of(1));
    EXPECT_EQ(host_gpus().recordings, before + 1);
    recordings.clear();
    EXPECT_EQ(host_gpus().recordings, before);
    for (int time = 0; time < 2; ++time) recordings.run({}, adder.of(1));
  }
  EXPECT_EQ(host_gpus().recordings, before);
  EXPECT_EQ(adder.sum, 4);
}

/// A factor of the loss that is another in every step must not fill the memory.
TEST(Recordings, AreNotWithoutEnd) {
  const std::size_t before = host_gpus().recordings;
  Adder adder;
  Recordings recordings;
  for (int scale = 0; scale < 3000; ++scale) {
    for (int time = 0; time < 2; ++time) {
      recordings.run({.scale = static_cast<double>(scale)}, adder.of(1));
    }
    ASSERT_LE(host_gpus().recordings, before + 1024);
  }
  EXPECT_EQ(adder.sum, 6000);
}

}  // namespace
}  // namespace dllaunch::gpu
