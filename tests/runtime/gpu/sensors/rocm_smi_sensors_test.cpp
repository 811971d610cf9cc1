#include "runtime/gpu/sensors/rocm_smi_sensors.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/runtime/gpu/sensors/fake_sensors.hpp"

namespace dllaunch {
namespace {

using testing::HasSubstr;
using testing::Optional;

TEST(RocmSmiSensors, ReportTheState) {
  auto sensors = open_rocm_smi_sensors("0002:11:00.0", fake_rocm_smi);
  ASSERT_TRUE(sensors) << sensors.error().what;
  const GpuReading reading = (*sensors)->read();
  EXPECT_EQ(reading.trouble, "");
  EXPECT_THAT(reading.utilisation, Optional(0.62));
  EXPECT_THAT(reading.memory_used_bytes, Optional(5ULL << 30));
  EXPECT_THAT(reading.memory_total_bytes, Optional(64ULL << 30));
  EXPECT_THAT(reading.power_w, Optional(310.0));
  EXPECT_THAT(reading.power_limit_w, Optional(560.0));
  EXPECT_THAT(reading.temperature_c, Optional(61.5));
  EXPECT_THAT(reading.slowdowns, Optional(GpuSlowdowns{}));
  EXPECT_THAT(reading.ecc_errors, Optional(0u));
  EXPECT_FALSE(reading.xids) << "NVIDIA's";
}

TEST(RocmSmiSensors, ReadTheClocksOfBothLayouts) {
  for (const char* release : {"", "since6"}) {
    const FakeSensors behaviour(release);
    auto sensors = open_rocm_smi_sensors("0002:c1:00.0", fake_rocm_smi);
    ASSERT_TRUE(sensors);
    const GpuReading reading = (*sensors)->read();
    EXPECT_THAT(reading.sm_clock_mhz, Optional(1395.0)) << release;
    EXPECT_THAT(reading.most_sm_clock_mhz, Optional(1700.0)) << release;
  }
}

TEST(RocmSmiSensors, ReportWhyItIsSlow) {
  const FakeSensors fault("hot");
  auto sensors = open_rocm_smi_sensors("0002:c1:00.0", fake_rocm_smi);
  ASSERT_TRUE(sensors);
  const GpuReading reading = (*sensors)->read();
  EXPECT_EQ(to_string(*reading.slowdowns), "power_cap, thermal");
  EXPECT_THAT(reading.ecc_errors, Optional(4u)) << "2 in each of the two blocks that count";
}

TEST(RocmSmiSensors, LeaveOutWhatIsNotTold) {
  const FakeSensors newer("new-metrics");
  auto sensors = open_rocm_smi_sensors("0002:c1:00.0", fake_rocm_smi);
  ASSERT_TRUE(sensors);
  const GpuReading reading = (*sensors)->read();
  EXPECT_FALSE(reading.slowdowns);
  EXPECT_TRUE(reading.power_w);
  EXPECT_EQ(reading.trouble, "");
}

TEST(RocmSmiSensors, SayThatAGpuIsGone) {
  const FakeSensors gone("gone");
  auto sensors = open_rocm_smi_sensors("0002:c1:00.0", fake_rocm_smi);
  ASSERT_TRUE(sensors);
  EXPECT_THAT((*sensors)->read().trouble, HasSubstr("no longer answers"));
}

/// Partitions of a device share its sensors; their number may be in the function of the address.
TEST(RocmSmiSensors, AreThoseOfTheWholeDevice) {
  const FakeSensors cut("cpx");
  EXPECT_TRUE(open_rocm_smi_sensors("0002:11:00.0", fake_rocm_smi));
  EXPECT_TRUE(open_rocm_smi_sensors("0002:11:00.2", fake_rocm_smi));
}

TEST(RocmSmiSensors, AreNotThereForAnotherAddressOrNoLibrary) {
  for (const char* pci : {"0000:11:00.0", "0002:12:00.0", "0002:11:01.0", "", "0002:11", "nonsense",
                          "0002:11:", ":::", "ffffffffffffffffffffff:00:00.0"}) {
    const auto none = open_rocm_smi_sensors(pci, fake_rocm_smi);
    ASSERT_FALSE(none) << pci;
    EXPECT_THAT(none.error().what, HasSubstr("knows no GPU")) << pci;
  }
  EXPECT_THAT(open_rocm_smi_sensors("0002:11:00.0", "libno-such-smi.so").error().what,
              HasSubstr("is not on this machine"));
  EXPECT_THAT(open_rocm_smi_sensors("0002:11:00.0", fake_nvml).error().what, HasSubstr("lacks"));
}

}  // namespace
}  // namespace dllaunch
