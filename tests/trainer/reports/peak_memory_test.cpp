#include "trainer/reports/peak_memory.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace dllaunch {
namespace {

TEST(PeakMemory, IsReadFromTheKernelsWords) {
  EXPECT_EQ(
      peak_memory_in("Name:\tdltrain\nVmPeak:\t  999 kB\nVmHWM:\t    1234 kB\nVmRSS:\t 8 kB\n"),
      1234.0 * 1024);
  EXPECT_FALSE(peak_memory_in("Name:\tkthreadd\n"));
  EXPECT_FALSE(peak_memory_in("VmHWM:\t0 kB\n")) << "unknown is never 0";
  EXPECT_FALSE(peak_memory_in("VmHWM:"));
}

TEST(PeakMemory, CountsWhatWasFreedSince) {
  constexpr std::size_t size = 64 << 20;
  const auto before = peak_memory_bytes();
  ASSERT_TRUE(before);
  {
    std::vector<char> much(size, 'x');
    EXPECT_EQ(much.back(), 'x');
  }
  EXPECT_GE(*peak_memory_bytes(), static_cast<double>(size));
  EXPECT_GE(*peak_memory_bytes(), *before);
}

}  // namespace
}  // namespace dllaunch
