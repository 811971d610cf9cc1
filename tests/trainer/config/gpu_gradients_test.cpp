// Uses host_gpu_test's table: `host_gpu`, whose gradients are in memory of a GPU, and `reference`.
#include "trainer/config/gpu_gradients.hpp"

#include <gtest/gtest.h>

namespace dllaunch {
namespace {

TEST(GpuGradients, AreReducedWhereTheFirstSuitableBackendHasThem) {
  TrainConfig config;
  EXPECT_TRUE(reduces_on_gpu(config));
  config.precision = Precision::fp64;  // only `reference` computes in it
  EXPECT_FALSE(reduces_on_gpu(config));
  config.precision = Precision::bf16;
  EXPECT_TRUE(reduces_on_gpu(config));
  config.backend = "reference";
  EXPECT_FALSE(reduces_on_gpu(config));
  config.backend = "auto";
  config.device = "hip";
  EXPECT_FALSE(reduces_on_gpu(config)) << "this build has none";
}

TEST(GpuGradients, AreReducedOnTheHostIfASettingNeedsThemThere) {
  TrainConfig config;
  EXPECT_EQ(passes_host(config.runtime), "");
  config.runtime.compression = Compression::bf16;
  EXPECT_EQ(passes_host(config.runtime), "runtime.compression bf16");
  EXPECT_FALSE(reduces_on_gpu(config));
  config.runtime.compression = Compression::none;
  config.runtime.gradient_lag = 1;
  EXPECT_EQ(passes_host(config.runtime), "runtime.gradient_lag");
  EXPECT_FALSE(reduces_on_gpu(config));
}

}  // namespace
}  // namespace dllaunch
