#include "launcher/preflight/cpu_speed.hpp"

#include <gtest/gtest.h>

#include "runtime/rank/binding.hpp"

namespace dllaunch {
namespace {

constexpr SpeedEffort small{.each = std::chrono::milliseconds(20),
                            .bytes_per_array = std::size_t{1} << 20};

TEST(CpuSpeed, IsWhatMachinesHave) {
  const auto mine = *current_binding();
  const auto speed = measure_cpu_speed(mine, small);
  ASSERT_TRUE(speed) << speed.error().what;
  EXPECT_EQ(speed->cpus, static_cast<int>(mine.size()));
  EXPECT_GT(speed->gflops, 0.01);
  EXPECT_LT(speed->gflops, 1000);
  EXPECT_GT(speed->gb_per_s, 0.01);
  EXPECT_LT(speed->gb_per_s, 20'000);
  EXPECT_GT(speed->share, 0);
  EXPECT_LT(speed->share, 1.05);
  EXPECT_TRUE(speed->sums_agree);
  EXPECT_EQ(*current_binding(), mine) << "only the measuring threads are bound";
}

TEST(CpuSpeed, SaysWhatIsRefused) {
  EXPECT_FALSE(measure_cpu_speed({}, small));
  EXPECT_FALSE(measure_cpu_speed({60'000}, small)) << "a CPU that is not there";
  EXPECT_FALSE(measure_cpu_speed({current_binding()->first(), 60'000}, small));
}

}  // namespace
}  // namespace dllaunch
