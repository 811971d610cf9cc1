#include "launcher/doctor/numa_memory.hpp"

#include <gtest/gtest.h>

#include "tests/support/emulator.hpp"
#include "topology/discovery/discover_hwloc.hpp"

namespace dllaunch {
namespace {

constexpr std::size_t bytes = std::size_t{1} << 20;

TEST(NumaMemory, IsThereAndZero) {
  const auto memory = NumaMemory::allocate(bytes, -1);
  ASSERT_TRUE(memory) << memory.error().what;
  const auto* data = static_cast<const char*>(memory->data());
  for (std::size_t i = 0; i < bytes; i += 4096) ASSERT_EQ(data[i], 0);
}

TEST(NumaMemory, LiesOnTheNodeAskedFor) {
  if (under_an_emulator()) GTEST_SKIP() << "qemu-user binds no memory to NUMA nodes";
  const auto node = discover_topology(DeviceNames::read);
  ASSERT_TRUE(node);
  for (const auto& numa : node->numa) {
    if (numa.memory_bytes == 0 || !node->allowed_numa.contains(numa.index)) continue;
    const auto memory = NumaMemory::allocate(bytes, numa.index);
    EXPECT_TRUE(memory) << memory.error().what;
  }
}

TEST(NumaMemory, ANodeThatIsNotThereIsAnError) {
  for (const int numa : {1023, 1024, 65535}) {
    const auto memory = NumaMemory::allocate(bytes, numa);
    ASSERT_FALSE(memory) << numa;
    EXPECT_NE(memory.error().what.find("memory of NUMA node " + std::to_string(numa)),
              std::string::npos);
  }
}

TEST(NumaMemory, MoreThanThereIsIsAnError) {
  EXPECT_FALSE(NumaMemory::allocate(std::size_t{1} << 62, -1));
}

}  // namespace
}  // namespace dllaunch
