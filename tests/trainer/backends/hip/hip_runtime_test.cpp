// The shared GPU backend on the HIP runtime. Linking this program proves that only convolutions and
// matmuls are undefined; without a GPU it can test little more.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fmt/core.h>

#include <numeric>
#include <vector>

#include "runtime/gpu/own_gpu.hpp"
#include "trainer/backends/gpu/kernels/elementwise_functors.hpp"
#include "trainer/backends/gpu/kernels/launch.hpp"

namespace dllaunch {
namespace {

using testing::StartsWith;

TEST(HipRuntime, CountsVersionsAsItsHeadersDo) {
  EXPECT_EQ(version_text(gpu_built_with, gpu_version_units),
            fmt::format("{}.{}.{}", HIP_VERSION_MAJOR, HIP_VERSION_MINOR, HIP_VERSION_PATCH));
}

TEST(HipRuntime, SaysInOneLineThatThereIsNoGpu) {
  const auto seen = seen_gpus();
  if (seen) GTEST_SKIP() << "there is one";
  EXPECT_EQ(seen.error().kind, ErrorKind::unavailable);
  EXPECT_THAT(seen.error().what, StartsWith("no GPU: HIP: "));
  EXPECT_EQ(seen.error().what.find('\n'), std::string::npos);
}

TEST(HipRuntime, ALaunchWithoutAGpuIsNoticedAtOnce) {
  if (seen_gpus()) GTEST_SKIP() << "there is one";
  float number = 0;
  const auto launch = [&] {
    gpu_clear_error();
    gpu::launch(nullptr, 1, gpu::SumOfTwo<float>{&number, &number, &number});
  };
  EXPECT_EXIT(launch(), testing::ExitedWithCode(70), "HIP: kernel dllaunch::gpu::SumOfTwo<float>");
}

TEST(HipRuntime, RunsAKernelOnTheGpu) {
  const auto taken = take_own_gpu({});
  if (!taken) GTEST_SKIP() << taken.error().what;
  std::vector<float> numbers(100'000);
  std::iota(numbers.begin(), numbers.end(), 0.F);
  const std::size_t bytes = numbers.size() * sizeof(float);
  void* memory = nullptr;
  ASSERT_EQ(gpu_allocate(&memory, bytes), gpu_success);
  EXPECT_TRUE(gpu_owns(memory));
  EXPECT_FALSE(gpu_owns(numbers.data()));
  ASSERT_EQ(gpu_copy(memory, numbers.data(), bytes), gpu_success);
  auto* const there = static_cast<float*>(memory);
  gpu::launch(nullptr, static_cast<std::int64_t>(numbers.size()),
              gpu::SumOfTwo<float>{there, there, there});
  std::vector<float> twice(numbers.size());
  ASSERT_EQ(gpu_copy(twice.data(), memory, bytes), gpu_success);
  for (std::size_t i = 0; i < numbers.size(); ++i) ASSERT_EQ(twice[i], 2 * numbers[i]) << i;
  EXPECT_EQ(gpu_free(memory), gpu_success);
}

}  // namespace
}  // namespace dllaunch
