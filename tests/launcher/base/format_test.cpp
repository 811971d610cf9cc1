#include "launcher/base/format.hpp"

#include <gtest/gtest.h>

namespace dllaunch {
namespace {

TEST(Format, NumbersForPeople) {
  EXPECT_EQ(clock_time(7), "0:07");
  EXPECT_EQ(clock_time(750), "12:30");
  EXPECT_EQ(clock_time(3723), "1:02:03");
  EXPECT_EQ(rate(3.14), "3.1");
  EXPECT_EQ(rate(999), "999");
  EXPECT_EQ(rate(1234567), "1,234,567");
}

}  // namespace
}  // namespace dllaunch
