#include "trainer/backends/gpu/step/graph_capture.hpp"

#include <gtest/gtest.h>

#include "trainer/backends/gpu/check.hpp"
#include "trainer/backends/gpu/kernels/elementwise_functors.hpp"
#include "trainer/backends/gpu/kernels/launch.hpp"

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
    recordings.run({.first_node = 5, .last_node = 3}, one.of(1));
    recordings.run({.first_node = 5, .last_node = 2}, other.of(10));
    recordings.run({.first_node = 5, .last_node = 3, .accumulate = true}, other.of(100));
    recordings.run({.kind = Take::Kind::backward, .first_node = 5, .last_node = 3}, one.of(1000));
  }
  EXPECT_EQ(one.asked, 4);
  EXPECT_EQ(other.asked, 4);
}

class Refusals : public testing::Test {
 protected:
  /// What is said of four times; each is done once, whatever is refused.
  std::string said_while_done() {
    Adder adder;
    Recordings recordings;
    testing::internal::CaptureStderr();
    for (int time = 0; time < 4; ++time) recordings.run({}, adder.of(1));
    EXPECT_EQ(adder.sum, 4);
    return testing::internal::GetCapturedStderr();
  }
  ~Refusals() override {
    host_gpus().refuses_recording = false;
    host_gpus().refuses_playing = false;
  }
};

TEST_F(Refusals, AreNoFailure) {
  const std::string warning =
      "warning: host does not record kernels (not while a stream is recorded): they are given one "
      "by one\n";
  EXPECT_EQ(said_while_done(), "");
  host_gpus().refuses_recording = true;
  EXPECT_EQ(said_while_done(), warning);
  host_gpus().refuses_recording = false;
  host_gpus().refuses_playing = true;
  EXPECT_EQ(said_while_done(), warning);
}

/// Batches that just fit leave no room for recordings.
TEST_F(Refusals, AFullGpuIsOne) {
  const std::size_t all = host_gpus().bytes_each;
  host_gpus().bytes_each = host_gpus().in_use[0] + host_recording_bytes - 1;
  EXPECT_NE(said_while_done().find("out of memory"), std::string::npos);
  host_gpus().bytes_each = all;
}

/// What a library did not do must not be missing in what is played.
TEST_F(Refusals, OfALibraryEndTheRecording) {
  float sum = 0;
  const float one = 1;
  int asked = 0;
  Recordings recordings;
  testing::internal::CaptureStderr();
  for (int time = 0; time < 4; ++time) {
    recordings.run({}, [&](GpuStream stream) {
      ++asked;
      if (stream != nullptr) return refused("a library", "not on this stream");
      launch(stream, 1, Convert<float, float>{&one, &sum, true});
    });
  }
  EXPECT_NE(testing::internal::GetCapturedStderr().find("(a library: not on this stream)"),
            std::string::npos);
  EXPECT_EQ(sum, 4);
  EXPECT_EQ(asked, 5);
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

}  // namespace
}  // namespace dllaunch::gpu
