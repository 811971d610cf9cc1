#include "launcher/doctor/memory_bandwidth.hpp"

#include <gtest/gtest.h>

#include "runtime/rank/binding.hpp"

namespace dllaunch {
namespace {

constexpr BandwidthEffort small{.bytes_per_array = std::size_t{2} << 20, .repetitions = 3};

TEST(MemoryBandwidth, IsWhatMachinesHave) {
  const auto mine = current_binding();
  ASSERT_TRUE(mine);
  for (const IdSet& cpus : {IdSet{mine->first()}, *mine}) {
    if (cpus.size() > 8) continue;
    const auto speed = measure_bandwidth(cpus, -1, small);
    ASSERT_TRUE(speed) << speed.error().what;
    EXPECT_GT(*speed, 0.01);
    EXPECT_LT(*speed, 20'000);
  }
  EXPECT_EQ(*current_binding(), *mine) << "only the measuring threads are bound";
}

TEST(MemoryBandwidth, SaysWhatIsRefused) {
  EXPECT_FALSE(measure_bandwidth({}, -1, small));
  EXPECT_FALSE(measure_bandwidth({60'000}, -1, small)) << "a CPU that is not there";
  EXPECT_FALSE(measure_bandwidth({current_binding()->first(), 60'000}, -1, small));
  const auto far = measure_bandwidth({current_binding()->first()}, 1023, small);
  ASSERT_FALSE(far);
  EXPECT_NE(far.error().what.find("NUMA node 1023"), std::string::npos);
}

}  // namespace
}  // namespace dllaunch
