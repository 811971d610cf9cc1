#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <utility>

#include "trainer/backends/gpu/check.hpp"
#include "trainer/backends/gpu/kernels/elementwise_functors.hpp"
#include "trainer/backends/gpu/kernels/launch.hpp"

namespace dllaunch::gpu {
namespace {

using testing::HasSubstr;

TEST(LaunchFailedDeathTest, EndsTheProcessAndNamesTheKernel) {
  const auto fail = [] { launch_failed(typeid(SumOfTwo<float>), GpuStatus::launch_failed); };
  EXPECT_EXIT(fail(), testing::ExitedWithCode(70), "kernel dllaunch::gpu::SumOfTwo<float>: ");
}

TEST(LaunchFailed, OnlyAbortsACapture) {
  capture_state() = {.active = true};
  launch_failed(typeid(SumOfTwo<float>), GpuStatus::launch_failed);
  const CaptureState state = std::exchange(capture_state(), {});
  EXPECT_THAT(state.failure, HasSubstr("kernel dllaunch::gpu::SumOfTwo<float>: "));
}

}  // namespace
}  // namespace dllaunch::gpu
