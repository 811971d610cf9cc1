#include "runtime/gpu/sensors/gpu_sensors.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/runtime/gpu/sensors/fake_sensors.hpp"

namespace dllaunch {
namespace {

using testing::AllOf;
using testing::HasSubstr;

TEST(GpuSensors, AreOpenedByTheLibraryThatKnowsTheGpu) {
  auto nvidia = GpuSensors::open("0000:07:00.0", fake_libraries());
  ASSERT_TRUE(nvidia) << nvidia.error().what;
  EXPECT_EQ((*nvidia)->read().power_w, 412.5);
  auto amd = GpuSensors::open("0002:c1:00.0", fake_libraries());
  ASSERT_TRUE(amd) << amd.error().what;
  EXPECT_EQ((*amd)->read().power_w, 310.0);
}

TEST(GpuSensors, NameWhyNoLibraryAnswers) {
  const auto none =
      GpuSensors::open("0000:99:00.0", {.nvml = "libno-such.so", .rocm_smi = fake_rocm_smi});
  ASSERT_FALSE(none);
  EXPECT_THAT(none.error().what, AllOf(HasSubstr("GPU 0000:99:00.0"),
                                       HasSubstr("libno-such.so is not on this machine"),
                                       HasSubstr("ROCm SMI knows no GPU 0000:99:00.0")));
}

}  // namespace
}  // namespace dllaunch
