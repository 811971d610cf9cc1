#include "trainer/backends/gpu/step/graph_capture.hpp"

#include <gtest/gtest.h>

#include "trainer/backends/gpu/check.hpp"
#include "trainer/backends/gpu/kernels/elementwise_functors.hpp"
#include "trainer/backends/gpu/kernels/launch.hpp"

namespace dllaunch::gpu {
namespace {

/// Adds `by` to a number with a kernel, and counts the calls.
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

TEST(GraphCapture, RunsThenCapturesThenReplays) {
  Adder adder;
  GraphCapture capture;
  const std::size_t replays = host_gpus().replays;
  for (int time = 1; time <= 5; ++time) {
    capture.run({}, adder.of(static_cast<float>(time)));
    EXPECT_EQ(adder.asked, std::min(time, 2));
  }
  EXPECT_EQ(adder.sum, 1 + 2 + 3 + 4 + 5) << "each time once, and with what lies in memory then";
  EXPECT_EQ(host_gpus().replays, replays + 4);
}

TEST(GraphCapture, KeepsKeysApart) {
  Adder one;
  Adder other;
  GraphCapture capture;
  for (int time = 0; time < 3; ++time) {
    capture.run({.first_node = 5, .last_node = 3}, one.of(1));
    capture.run({.first_node = 5, .last_node = 2}, other.of(10));
    capture.run({.first_node = 5, .last_node = 3, .accumulate = true}, other.of(100));
    capture.run({.kind = CaptureKey::Kind::backward, .first_node = 5, .last_node = 3},
                one.of(1000));
  }
  EXPECT_EQ(one.asked, 4);
  EXPECT_EQ(other.asked, 4);
}

class Refusals : public testing::Test {
 protected:
  /// Returns what four runs print; each does its work once, whatever is refused.
  std::string said_while_done() {
    Adder adder;
    GraphCapture capture;
    testing::internal::CaptureStderr();
    for (int time = 0; time < 4; ++time) capture.run({}, adder.of(1));
    EXPECT_EQ(adder.sum, 4);
    return testing::internal::GetCapturedStderr();
  }
  ~Refusals() override {
    host_gpus().refuses_capture = false;
    host_gpus().refuses_replay = false;
  }
};

TEST_F(Refusals, AreNoFailure) {
  const std::string warning =
      "warning: host graph capture failed (not permitted during stream capture); launching kernels "
      "individually\n";
  EXPECT_EQ(said_while_done(), "");
  host_gpus().refuses_capture = true;
  EXPECT_EQ(said_while_done(), warning);
  host_gpus().refuses_capture = false;
  host_gpus().refuses_replay = true;
  EXPECT_EQ(said_while_done(), warning);
}

/// A batch that just fits leaves no room for a graph.
TEST_F(Refusals, AFullGpuIsOne) {
  const std::size_t all = host_gpus().bytes_each;
  host_gpus().bytes_each = host_gpus().in_use[0] + host_graph_bytes - 1;
  EXPECT_NE(said_while_done().find("out of memory"), std::string::npos);
  host_gpus().bytes_each = all;
}

/// Work that a library did not do must not be missing from a replay.
TEST_F(Refusals, OfALibraryEndTheCapture) {
  float sum = 0;
  const float one = 1;
  int asked = 0;
  GraphCapture capture;
  testing::internal::CaptureStderr();
  for (int time = 0; time < 4; ++time) {
    capture.run({}, [&](GpuStream stream) {
      ++asked;
      if (stream != nullptr) return library_failed("a library", "not on this stream");
      launch(stream, 1, Convert<float, float>{&one, &sum, true});
    });
  }
  EXPECT_NE(testing::internal::GetCapturedStderr().find("(a library: not on this stream)"),
            std::string::npos);
  EXPECT_EQ(sum, 4);
  EXPECT_EQ(asked, 5);
}

/// The second run is the captured one.
TEST_F(Refusals, OfALaunchEndTheCapture) {
  host_gpus().launches_until_failure = 1;
  const std::string said = said_while_done();
  EXPECT_NE(said.find("(host: kernel dllaunch::gpu::Convert<float, float>: launch failed)"),
            std::string::npos)
      << said;
}

TEST(GraphCapture, ClearDestroysItsGraphs) {
  const std::size_t before = host_gpus().graphs;
  Adder adder;
  {
    GraphCapture capture;
    for (int time = 0; time < 2; ++time) capture.run({}, adder.of(1));
    EXPECT_EQ(host_gpus().graphs, before + 1);
    capture.clear();
    EXPECT_EQ(host_gpus().graphs, before);
    for (int time = 0; time < 2; ++time) capture.run({}, adder.of(1));
  }
  EXPECT_EQ(host_gpus().graphs, before);
  EXPECT_EQ(adder.sum, 4);
}

}  // namespace
}  // namespace dllaunch::gpu
