#include "runtime/communicators/aligned_memory.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>

namespace dllaunch {
namespace {

TEST(AlignedMemory, IsZeroedAlignedAndApart) {
  AlignedMemory memory;
  const auto first = memory.allocate(100);
  std::ranges::fill(first, std::byte{1});
  const auto second = memory.allocate(1);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(first.data()) % 64, 0u);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(second.data()) % 64, 0u);
  EXPECT_EQ(second[0], std::byte{0});
  EXPECT_EQ(std::ranges::count(first, std::byte{1}), 100) << "earlier pieces stay";
  EXPECT_TRUE(memory.allocate(0).empty());
}

TEST(AlignedMemoryDeathTest, NamesTheSizeThatFailed) {
  // The re-executed child reads these; otherwise a sanitizer would end it first.
  ::setenv("ASAN_OPTIONS", "allocator_may_return_null=1", 1);
  ::setenv("TSAN_OPTIONS", "allocator_may_return_null=1", 1);
  testing::GTEST_FLAG(death_test_style) = "threadsafe";
  AlignedMemory memory;
  EXPECT_EXIT((void)memory.allocate(std::size_t{1} << 62), testing::ExitedWithCode(70),
              "memory: 4611686018427387904 bytes: Cannot allocate memory");
}

}  // namespace
}  // namespace dllaunch
