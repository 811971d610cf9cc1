#include "launcher/base/time_span.hpp"

#include <gtest/gtest.h>

namespace dllaunch {
namespace {

TEST(TimeSpan, IsReadInUnits) {
  EXPECT_EQ(seconds_in("90s"), 90);
  EXPECT_EQ(seconds_in("20m"), 1200);
  EXPECT_EQ(seconds_in("20min"), 1200);
  EXPECT_EQ(seconds_in("1.5h"), 5400);
  EXPECT_EQ(seconds_in("1d12h"), 129600);
  EXPECT_EQ(seconds_in("14 d 2 h"), 14 * 86400 + 7200);
  EXPECT_EQ(seconds_in("0s"), 0);
}

TEST(TimeSpan, WithoutAUnitItIsNone) {
  for (const char* text : {"", "5", "h", "-1h", "-0s", "1x", "infs", "nanh", "1e400d", "1000001d",
                           "1h 5", "1..5h", "0x10s"})
    EXPECT_FALSE(seconds_in(text)) << text;
}

TEST(TimeSpan, IsWrittenWithTwoUnitsAtMost) {
  EXPECT_EQ(time_span(0), "0 s");
  EXPECT_EQ(time_span(1.5), "1.5 s");
  EXPECT_EQ(time_span(0.25), "0.25 s");
  EXPECT_EQ(time_span(90), "90 s");
  EXPECT_EQ(time_span(119.8), "2 min");
  EXPECT_EQ(time_span(12 * 60), "12 min");
  EXPECT_EQ(time_span(3599), "1 h");
  EXPECT_EQ(time_span(6180), "1 h 43 min");
  EXPECT_EQ(time_span(2 * 86400), "2 d");
  EXPECT_EQ(time_span(2 * 86400 - 1), "2 d");
  EXPECT_EQ(time_span(14 * 86400 + 2 * 3600), "14 d 2 h");
}

}  // namespace
}  // namespace dllaunch
