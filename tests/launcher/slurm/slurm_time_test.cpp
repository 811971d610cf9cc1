#include "launcher/slurm/slurm_time.hpp"

#include <gtest/gtest.h>

namespace dllaunch {
namespace {

TEST(SlurmTime, ReadsDurations) {
  EXPECT_EQ(parse_slurm_minutes("30"), 30);
  EXPECT_EQ(parse_slurm_seconds("0:02"), 2);
  EXPECT_EQ(parse_slurm_seconds("2-12:30:10"), 60 * 3600 + 30 * 60 + 10);
  EXPECT_EQ(parse_slurm_minutes("30:01"), 31) << "a part of a minute counts whole";
  EXPECT_EQ(parse_slurm_minutes("00:30:00"), 30);
  EXPECT_EQ(parse_slurm_minutes("1:30:00"), 90);
  EXPECT_EQ(parse_slurm_minutes("2-12"), 60 * 60);
  EXPECT_EQ(parse_slurm_minutes("2-12:30"), 60 * 60 + 30);
  EXPECT_EQ(parse_slurm_minutes("2-12:30:10"), 60 * 60 + 31);
  for (const auto* text : {"", "x", "1:2:3:4", "-1", "1-", "1:", "UNLIMITED", "999999999-0", "1 h"})
    EXPECT_EQ(parse_slurm_minutes(text), std::nullopt) << text;
  EXPECT_TRUE(is_unlimited("UNLIMITED"));
  EXPECT_FALSE(is_unlimited("30"));
}

TEST(SlurmTime, ElapsedTimesOfSqueue) {
  EXPECT_EQ(parse_slurm_elapsed("0:05"), 5);
  EXPECT_EQ(parse_slurm_elapsed("2:03:04"), 7384);
  EXPECT_EQ(parse_slurm_elapsed("1-02:03:04"), 93784);
  for (const char* none : {"", "INVALID", "5", "1:2:3:4", "-1:00", "1:x", ":", "99999999999:00"})
    EXPECT_FALSE(parse_slurm_elapsed(none)) << none;
}

TEST(SlurmTime, ATimeIsWrittenAsItIsRead) {
  const auto time = parse_slurm_time("2026-11-20T19:57:21");
  ASSERT_TRUE(time);
  EXPECT_EQ(slurm_time(static_cast<double>(*time)), "2026-11-20T19:57:21");
  for (const char* none : {"", "Unknown", "N/A", "2026-11-20", "2026-11-20T19:57:21x"})
    EXPECT_FALSE(parse_slurm_time(none)) << none;
}

}  // namespace
}  // namespace dllaunch
