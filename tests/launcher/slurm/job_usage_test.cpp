#include "launcher/slurm/job_usage.hpp"

#include <gtest/gtest.h>

#include "tests/support/fake_system.hpp"

namespace dllaunch {
namespace {

TEST(JobUsage, TakesTheMostOfATaskAndTheEnergyOnce) {
  const auto usage = parse_job_usage(
      "7||31000\n7.batch|999999K|9000\n7.extern|1K|15000\n7.0|2048K|12000\n7.1|1.5G|10000\n");
  EXPECT_EQ(usage.peak_task_bytes, 3 * (std::int64_t{1} << 29)) << "not the batch script's";
  EXPECT_EQ(usage.joules, 22000) << "the ranks' steps, or what ran beside them";
  EXPECT_EQ(parse_job_usage("7||0\n7.batch||9000\n7.0|5K|8000\n").joules, 9000);
}

TEST(JobUsage, AddsTheRunsOfARequeuedJob) {
  EXPECT_EQ(parse_job_usage("7||\n7.0|4K|100\n7||\n7.0|8K|50\n").joules, 150);
}

TEST(JobUsage, ZeroIsUnknown) {
  for (const char* text : {"", "7||0\n7.batch|0|0\n7.0|0|0\n", "7||\n7.0||\n", "7.0|x|y\n",
                           "7.0|-5K|-3\n", "7.0|1e30P|inf\n", "no such job\n"}) {
    const auto usage = parse_job_usage(text);
    EXPECT_FALSE(usage.peak_task_bytes) << text;
    EXPECT_FALSE(usage.joules) << text;
  }
}

TEST(JobUsage, IsUnknownWithoutAccounting) {
  FakeSystem system;
  EXPECT_FALSE(usage_of_job(system, "7").joules) << "no sacct";
  system.programs.insert("sacct");
  system.respond = [](const auto&) {
    return CommandOutput{1, "", "Slurm accounting storage is disabled\n"};
  };
  EXPECT_FALSE(usage_of_job(system, "7").joules);
  system.respond = [](const auto& argv) {
    EXPECT_EQ(argv.at(4), "--jobs=7");
    return CommandOutput{0, "7||\n7.0|1K|5\n", ""};
  };
  EXPECT_EQ(usage_of_job(system, "7").joules, 5);
}

}  // namespace
}  // namespace dllaunch
