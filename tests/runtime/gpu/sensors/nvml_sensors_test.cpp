#include "runtime/gpu/sensors/nvml_sensors.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/runtime/gpu/sensors/fake_sensors.hpp"

namespace dllaunch {
namespace {

using testing::ElementsAre;
using testing::Optional;

TEST(NvmlSensors, ReportTheState) {
  auto sensors = open_nvml_sensors("0000:07:00.0", fake_nvml_state);
  ASSERT_TRUE(sensors) << sensors.error().what;
  const GpuReading reading = (*sensors)->read();
  EXPECT_EQ(reading.trouble, "");
  EXPECT_THAT(reading.utilisation, Optional(0.75));
  EXPECT_THAT(reading.memory_used_bytes, Optional(500ULL << 20));
  EXPECT_THAT(reading.memory_total_bytes, Optional(80ULL << 30));
  EXPECT_THAT(reading.power_w, Optional(412.5));
  EXPECT_THAT(reading.power_limit_w, Optional(700.0));
  EXPECT_THAT(reading.sm_clock_mhz, Optional(1755.0));
  EXPECT_THAT(reading.most_sm_clock_mhz, Optional(1980.0));
  EXPECT_THAT(reading.temperature_c, Optional(54.0));
  EXPECT_THAT(reading.ecc_errors, Optional(0u));
  EXPECT_THAT(reading.xids, Optional(testing::IsEmpty()));
  // Idle, 0x1, is not a slowdown.
  EXPECT_THAT(reading.slowdowns, Optional(GpuSlowdowns{}));
}

TEST(NvmlSensors, AreThoseOfTheAddress) {
  const FakeSensors fault("hot");
  auto first = open_nvml_sensors("0000:07:00.0", fake_nvml_state);
  auto second = open_nvml_sensors("0000:0f:00.0", fake_nvml_state);
  ASSERT_TRUE(first && second);
  EXPECT_FALSE((*first)->read().slowdowns->any());
  const GpuReading hot = (*second)->read();
  EXPECT_EQ(to_string(*hot.slowdowns), "thermal, hardware");
  EXPECT_THAT(hot.sm_clock_mhz, Optional(660.0));
}

TEST(NvmlSensors, TellEachErrorOnce) {
  const FakeSensors fault("xid");
  auto sensors = open_nvml_sensors("0000:0f:00.0", fake_nvml_state);
  ASSERT_TRUE(sensors);
  EXPECT_THAT((*sensors)->read().xids, Optional(ElementsAre(31u, 79u, 79u)));
  EXPECT_THAT((*sensors)->read().xids, Optional(testing::IsEmpty()));
}

TEST(NvmlSensors, LeaveOutWhatADriverDoesNotTell) {
  // One has the functions but does not support them, one lacks them.
  const FakeSensors old("old");
  for (const std::string& library : {fake_nvml_state, fake_nvml}) {
    auto sensors = open_nvml_sensors("0000:07:00.0", library);
    ASSERT_TRUE(sensors) << sensors.error().what;
    const GpuReading reading = (*sensors)->read();
    EXPECT_EQ(reading.trouble, "");
    EXPECT_FALSE(reading.utilisation);
    EXPECT_FALSE(reading.power_w);
    EXPECT_FALSE(reading.sm_clock_mhz);
    EXPECT_FALSE(reading.slowdowns);
    EXPECT_FALSE(reading.xids);
  }
}

TEST(NvmlSensors, SayThatAGpuIsLost) {
  const FakeSensors lost("lost");
  const auto gone = open_nvml_sensors("0000:0f:00.0", fake_nvml_state);
  ASSERT_FALSE(gone);
  EXPECT_EQ(gone.error().what, "GPU 0000:0f:00.0: GPU is lost");
  EXPECT_TRUE(open_nvml_sensors("0000:07:00.0", fake_nvml_state));
}

TEST(NvmlSensors, SayThatAGpuWasLostMeanwhile) {
  auto before = open_nvml_sensors("0000:0f:00.0", fake_nvml_state);
  ASSERT_TRUE(before);
  const FakeSensors lost("lost-later");  // from this process's third reading on
  std::string trouble;
  for (int i = 0; i < 3; ++i) trouble = (*before)->read().trouble;
  EXPECT_EQ(trouble, "NVML: GPU is lost");
}

TEST(NvmlSensors, AreNotThereWithoutLibraryOrDriver) {
  EXPECT_EQ(open_nvml_sensors("0000:07:00.0", "libno-such-nvml.so").error().what,
            "libno-such-nvml.so is not on this machine");
  const FakeSensors none("no-driver");
  EXPECT_EQ(open_nvml_sensors("0000:07:00.0", fake_nvml_state).error().what,
            "nvmlInit: Driver Not Loaded");
}

}  // namespace
}  // namespace dllaunch
