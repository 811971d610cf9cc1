#include "runtime/gpu/sensors/gpu_reading.hpp"

#include <gtest/gtest.h>

#include <set>
#include <string>

namespace dllaunch {
namespace {

TEST(GpuReading, SlowdownsAreASet) {
  GpuSlowdowns reasons;
  EXPECT_FALSE(reasons.any());
  EXPECT_EQ(to_string(reasons), "");
  reasons.add(GpuSlowdown::thermal);
  reasons.add(GpuSlowdown::power_cap);
  reasons.add(GpuSlowdown::thermal);
  EXPECT_TRUE(reasons.has(GpuSlowdown::thermal));
  EXPECT_FALSE(reasons.has(GpuSlowdown::hardware));
  EXPECT_EQ(to_string(reasons), "power_cap, thermal");
}

TEST(GpuReading, EveryReasonHasItsOwnName) {
  std::set<std::string> names;
  for (std::size_t i = 0; i < gpu_slowdown_kinds; ++i) {
    EXPECT_EQ(static_cast<std::size_t>(gpu_slowdowns[i]), i);
    names.emplace(to_string(gpu_slowdowns[i]));
  }
  EXPECT_EQ(names.size(), gpu_slowdown_kinds);
  EXPECT_FALSE(names.contains(""));
}

}  // namespace
}  // namespace dllaunch
