#include "launcher/base/moment.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <ctime>
#include <random>
#include <string>

namespace dllaunch {
namespace {

constexpr double now = 1'795'500'000;  // 2026-11-24 06:00:00 UTC

TEST(Moment, AnAgeIsBeforeNow) {
  EXPECT_EQ(moment_in("90s", now), now - 90);
  EXPECT_EQ(moment_in("10m", now), now - 600);
  EXPECT_EQ(moment_in("1.5h", now), now - 5400);
  EXPECT_EQ(moment_in("2d", now), now - 172'800);
  for (const char* wrong : {"", "m", "10", "10x", "-1m", "10 m", "nanm", "yesterday"})
    EXPECT_FALSE(moment_in(wrong, now)) << wrong;
}

TEST(Moment, ADateMayNameItsZone) {
  EXPECT_EQ(moment_in("2026-11-24T06:00:00Z", now), now);
  EXPECT_EQ(moment_in("2026-11-24T07:30:00+01:30", now), now);
  EXPECT_EQ(moment_in("2026-11-24 05:00-0100", now), now);
  const auto midnight = moment_in("2026-11-24", now);
  ASSERT_TRUE(midnight);
  EXPECT_EQ(moment_in("2026-11-24 08:30", now), *midnight + 8.5 * 3600);
  for (const char* wrong : {"2026-13-01", "2026-11-24T", "2026-11-24T25:00", "24.11.2026"})
    EXPECT_FALSE(moment_in(wrong, now)) << wrong;
}

TEST(Moment, AClockIsToday) {
  const auto time = static_cast<std::time_t>(now);
  std::tm local{};
  localtime_r(&time, &local);
  char text[16];
  std::strftime(text, sizeof text, "%H:%M:%S", &local);
  EXPECT_EQ(moment_in(text, now), now);
}

TEST(Moment, LinesBeginWithThem) {
  EXPECT_EQ(leading_moment("2026-11-24T06:00:00.250Z step 3"), now);
  EXPECT_EQ(leading_moment("[2026-11-24 06:00:00,123+00:00] INFO x"), now);
  EXPECT_EQ(leading_moment("[2026/11/24 06:00:00Z]"), now);
  EXPECT_FALSE(leading_moment("2026-11-24 was a Tuesday"));
  EXPECT_FALSE(leading_moment("epoch 1/3: loss 0.4"));
  EXPECT_FALSE(leading_moment(""));
}

/// Any text: no answer, or a finite one.
TEST(Moment, ReadsAnyText) {
  std::mt19937 random(5);
  constexpr std::string_view letters = "0123456789-:/TZ+ .,[smhd\xff";
  for (int round = 0; round < 20'000; ++round) {
    std::string text(random() % 24, ' ');
    for (char& letter : text) letter = letters[random() % letters.size()];
    const auto moment = moment_in(text, now);
    EXPECT_TRUE(!moment || std::isfinite(*moment)) << text;
    leading_moment(text);
  }
}

}  // namespace
}  // namespace dllaunch
