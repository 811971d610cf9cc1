#include "launcher/preflight/gpu_speed.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>

#include "launcher/preflight/check.hpp"
#include "support/isolated_call.hpp"

namespace dllaunch {
namespace {

/// In a child: a stand-in that aborts is a wrong order of calls.
Json measured(const std::string& library, const char* behaviour = "") {
  const auto text = isolated_call(
      [&]() -> Result<std::string> {
        setenv("DLLAUNCH_FAKE_CUDA", behaviour, 1);
        return measure_gpu_speeds(library).dump();
      },
      std::chrono::seconds(60));
  EXPECT_TRUE(text) << text.error().what;
  return Json::parse(text ? *text : "{}", nullptr, false);
}

TEST(GpuSpeed, OfAStandInIsMeasuredInTheRightOrderOfCalls) {
  const auto seen = measured(DLLAUNCH_FAKE_CUDA_SPEED);
  ASSERT_EQ(seen["gpus"].size(), 2u) << seen;
  for (const auto& gpu : seen["gpus"]) {
    EXPECT_EQ(text_of(gpu, "why"), "");
    EXPECT_EQ(text_of(gpu, "name"), "Fake GPU");
    for (const char* key : {"to_gpu", "from_gpu", "memory", "peer", "tflops"})
      EXPECT_GT(number_of(gpu, key).value_or(0), 0) << key;
    EXPECT_EQ(number_of(gpu, "wrong"), 0);
  }
  EXPECT_EQ(text_of(seen["gpus"][1], "pci"), "0000:c1:00.0");
}

TEST(GpuSpeed, SaysWhatIsRefused) {
  const auto second = [](const char* behaviour) {
    return measured(DLLAUNCH_FAKE_CUDA_SPEED, behaviour)["gpus"][1];
  };
  EXPECT_EQ(text_of(second("no-memory"), "why"), "128 MiB of its memory cannot be allocated");
  EXPECT_EQ(text_of(second("no-kernel"), "why"), "the driver rejects the kernel");
  EXPECT_EQ(number_of(second("wrong"), "wrong"), 1);
  EXPECT_FALSE(second("no-peer").contains("peer"));
  EXPECT_EQ(text_of(measured(DLLAUNCH_FAKE_CUDA_SPEED, "no-driver"), "why"),
            "cuInit failed with 999");
  EXPECT_EQ(text_of(measured("libno-such-cuda.so"), "why"), "no libno-such-cuda.so");
}

TEST(GpuSpeed, IsWhatGpusHave) {
  const auto seen = measured("libcuda.so.1");
  if (seen["gpus"].empty()) GTEST_SKIP() << "unavailable: " << text_of(seen, "why");
  for (const auto& gpu : seen["gpus"]) {
    EXPECT_EQ(text_of(gpu, "why"), "") << gpu;
    EXPECT_EQ(number_of(gpu, "wrong"), 0) << gpu;
    EXPECT_GT(number_of(gpu, "to_gpu").value_or(0), 1) << gpu;
    EXPECT_GT(number_of(gpu, "memory").value_or(0), 50) << gpu;
    EXPECT_GT(number_of(gpu, "tflops").value_or(0), 1) << gpu;
  }
}

}  // namespace
}  // namespace dllaunch
