#include "launcher/job/short_values.hpp"

#include <fmt/core.h>
#include <gtest/gtest.h>

#include <random>

#include "launcher/slurm/slurm_time.hpp"
#include "tests/support/tier.hpp"

namespace dllaunch {
namespace {

TEST(ShortValues, TimesAreWrittenAsSlurmDoes) {
  EXPECT_EQ(time_of_short("2h"), "02:00:00");
  EXPECT_EQ(time_of_short("30m"), "00:30:00");
  EXPECT_EQ(time_of_short("1d12h"), "1-12:00:00");
  EXPECT_EQ(time_of_short("1h30m5s"), "01:30:05");
  EXPECT_EQ(time_of_short("90m"), "01:30:00");
  EXPECT_EQ(time_of_short("36h"), "1-12:00:00");
  for (const char* other : {"", "2", "h", "2 h", "30m2h", "2h2h", "1.5h", "-2h", "2h30", "02:00:00",
                            "1-12", "2H", "1234567h", "2h\n"})
    EXPECT_EQ(time_of_short(other), std::nullopt) << other;
}

TEST(ShortValues, MemoryHasSlurmsUnits) {
  EXPECT_EQ(memory_of_short("64GB"), "64G");
  EXPECT_EQ(memory_of_short("64 GiB"), "64G");
  EXPECT_EQ(memory_of_short("64g"), "64G");
  EXPECT_EQ(memory_of_short("500MB"), "500M");
  EXPECT_EQ(memory_of_short("2T"), "2T");
  for (const char* other :
       {"", "64", "GB", "64  GB", "-1G", "1.5T", "64Gb/s", "64P", "0x4G", "12345678901G"})
    EXPECT_EQ(memory_of_short(other), std::nullopt) << other;
}

TEST(ShortValues, MemoryCountsInMebibytes) {
  EXPECT_EQ(memory_mib("64G"), 65536);
  EXPECT_EQ(memory_mib("512K"), 0.5);
  EXPECT_EQ(memory_mib("3M"), 3);
  EXPECT_EQ(memory_mib("2T"), 2 << 20);
  EXPECT_EQ(memory_mib(""), 0);
}

/// Any mixture of units is the same time to Slurm's reader, and what is full form stays.
TEST(ShortValues, AnyTimeKeepsItsLength) {
  std::mt19937 random(20261124);
  const auto below = [&random](int limit) {
    return std::uniform_int_distribution(0, limit - 1)(random);
  };
  for (int round = 0; round < rounds_here(2000); ++round) {
    const int days = below(100);
    const int hours = below(1000);
    const int minutes = 1 + below(10000);
    std::string text;
    if (below(2) == 0) text += fmt::format("{}d", days);
    const int whole_days = text.empty() ? 0 : days;
    const bool has_hours = below(2) == 0;
    if (has_hours) text += fmt::format("{}h", hours);
    text += fmt::format("{}m", minutes);
    const auto full = time_of_short(text);
    ASSERT_TRUE(full) << text;
    EXPECT_EQ(parse_slurm_minutes(*full),
              (whole_days * 24 + (has_hours ? hours : 0)) * 60 + minutes)
        << text << " became " << *full;
    EXPECT_EQ(time_of_short(*full), std::nullopt) << *full;
  }
}

TEST(ShortValues, AnyTextIsRefusedOrOneOfTheUnits) {
  std::mt19937 random(7);
  const std::string letters = "0123456789dhmsGMKTgbiB .-:\n\xff";
  for (int round = 0; round < rounds_here(20000); ++round) {
    std::string text;
    for (int i = 0; i < 6; ++i) text += letters[random() % letters.size()];
    if (const auto time = time_of_short(text)) {
      EXPECT_TRUE(parse_slurm_minutes(*time)) << text;
    }
    if (const auto memory = memory_of_short(text)) {
      EXPECT_EQ(memory_of_short(*memory), memory) << text;
    }
  }
}

}  // namespace
}  // namespace dllaunch
