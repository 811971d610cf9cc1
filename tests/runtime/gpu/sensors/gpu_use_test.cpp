#include "runtime/gpu/sensors/gpu_use.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <vector>

namespace dllaunch {
namespace {

GpuReading busy(double utilisation, double power_w, double clock_mhz) {
  return {.utilisation = utilisation, .power_w = power_w, .sm_clock_mhz = clock_mhz};
}

TEST(GpuUse, WeighsReadingsByTheirTime) {
  GpuUseMeter meter;
  meter.add(busy(1, 700, 1980), 10);  // the first stands for no time
  meter.add(busy(0.5, 400, 1500), 11);
  meter.add(busy(0.2, 100, 300), 14);
  const GpuUse use = meter.take(14);
  EXPECT_EQ(use.readings, 3);
  EXPECT_EQ(use.seconds, 4);
  EXPECT_DOUBLE_EQ(*use.utilisation.mean(), (0.5 + 3 * 0.2) / 4);
  EXPECT_EQ(use.utilisation.most, 1);
  EXPECT_DOUBLE_EQ(use.power.sum, 400 + 3 * 100) << "energy in J";
  EXPECT_EQ(use.power.most, 700);
  EXPECT_EQ(use.clock.least, 300);
  EXPECT_EQ(use.loaded_clock.least, 1500) << "idle clocks are low";
  EXPECT_EQ(use.loaded_clock.readings, 2);
}

TEST(GpuUse, MissingValuesAreNotZero) {
  GpuUseMeter meter;
  meter.add({}, 0);
  meter.add({.temperature_c = 40}, 1);
  const GpuUse use = meter.take(1);
  EXPECT_EQ(use.readings, 2);
  EXPECT_FALSE(use.utilisation.mean());
  EXPECT_FALSE(use.power.mean());
  EXPECT_FALSE(use.slowed_share());
  EXPECT_EQ(use.ecc_known, 0);
  EXPECT_EQ(use.xids_known, 0);
  EXPECT_EQ(use.temperature, 40);
}

TEST(GpuUse, SharesOfStepsNeedSteps) {
  GpuUse use;
  EXPECT_FALSE(use.idle_share());
  EXPECT_FALSE(use.exposed_ms());
  use.steps = 1;
  use.busy_s = 0.09;
  use.exposed_s = 0.002;
  EXPECT_FALSE(use.idle_share()) << "one step has no gap";
  EXPECT_DOUBLE_EQ(*use.exposed_ms(), 2);
  use.steps = 3;
  use.busy_s = 0.27;
  use.gaps = 2;
  use.idle_s = 0.02;
  EXPECT_DOUBLE_EQ(*use.idle_share(), 0.1);
}

TEST(GpuUse, CountsSlowdownsByReason) {
  GpuSlowdowns hot;
  hot.add(GpuSlowdown::thermal);
  hot.add(GpuSlowdown::hardware);
  GpuUseMeter meter;
  meter.add({.slowdowns = GpuSlowdowns{}}, 0);
  meter.add({.slowdowns = hot}, 1);
  meter.add({.slowdowns = GpuSlowdowns{}}, 4);
  meter.add({}, 5);  // a reading without an answer
  const GpuUse use = meter.take(5);
  EXPECT_EQ(use.slowdowns_known, 4);
  EXPECT_EQ(use.slowed, 1) << "reasons that come together slow down once";
  EXPECT_DOUBLE_EQ(*use.slowed_share(), 0.25);
  EXPECT_EQ(use.slowed_by[static_cast<std::size_t>(GpuSlowdown::thermal)], 1);
  EXPECT_EQ(use.slowed_by[static_cast<std::size_t>(GpuSlowdown::hardware)], 1);
  EXPECT_EQ(use.slowed_by[static_cast<std::size_t>(GpuSlowdown::power_cap)], 0);
}

TEST(GpuUse, CountsOnlyNewErrors) {
  GpuUseMeter meter;
  const auto read = [&](std::uint64_t errors, std::vector<unsigned> xids, double at) {
    meter.add({.ecc_errors = errors, .xids = std::move(xids)}, at);
  };
  read(7, {}, 0);  // of earlier jobs
  EXPECT_EQ(meter.take(0).ecc_errors, 0);
  read(9, {31, 31}, 1);
  read(1, {}, 2);  // the driver was reloaded
  read(2, {79}, 3);
  const GpuUse use = meter.take(3);
  EXPECT_EQ(use.ecc_errors, 3);
  EXPECT_EQ(use.xids, 3);
  EXPECT_EQ(use.first_xids, (std::array<double, 4>{31, 79, 0, 0}));
  EXPECT_EQ(meter.take(3).xids, 0);
}

TEST(GpuUse, ManyErrorsFitToo) {
  GpuUseMeter meter;
  std::vector<unsigned> xids(1000);
  for (unsigned i = 0; i < 1000; ++i) xids[i] = i + 1;
  meter.add({.xids = xids}, 0);
  const GpuUse use = meter.take(0);
  EXPECT_EQ(use.xids, 1000);
  EXPECT_EQ(use.first_xids, (std::array<double, 4>{1, 2, 3, 4}));
}

TEST(GpuUse, ErrorsBetweenEpochsBelongToTheNext) {
  GpuUseMeter meter;
  meter.add({.power_w = 100, .ecc_errors = 0, .xids = std::vector<unsigned>{}}, 0);
  meter.add({.power_w = 100, .ecc_errors = 2, .xids = std::vector<unsigned>{48}}, 1);
  meter.restart(1);
  const GpuUse use = meter.take(2);
  EXPECT_EQ(use.readings, 0);
  EXPECT_FALSE(use.power.mean());
  EXPECT_EQ(use.ecc_errors, 2);
  EXPECT_EQ(use.xids, 1);
  EXPECT_EQ(use.unanswered, 1);
}

TEST(GpuUse, DoesNotExtrapolateOverGaps) {
  GpuUseMeter meter;
  meter.add(busy(1, 500, 1980), 0);
  meter.add(busy(1, 500, 1980), 100);
  EXPECT_EQ(meter.take(100).seconds, GpuUseMeter::longest_gap_s);
  EXPECT_EQ(meter.take(160).unanswered, 60);
  meter.add({.trouble = "GPU is lost"}, 161);
  const GpuUse use = meter.take(161);
  EXPECT_EQ(use.failed, 1);
  EXPECT_EQ(use.readings, 0);
}

/// For any readings, divided into epochs anywhere.
TEST(GpuUse, EpochsAddUpToTheWhole) {
  std::mt19937 random(7);
  std::uniform_real_distribution<double> share(0, 1);
  for (int round = 0; round < 200; ++round) {
    GpuUseMeter whole;
    GpuUseMeter cut;
    std::vector<GpuUse> parts;
    double at = 0;
    for (int i = 0; i < 50; ++i) {
      GpuSlowdowns slowdowns;
      for (const GpuSlowdown reason : gpu_slowdowns) {
        if (share(random) < 0.2) slowdowns.add(reason);
      }
      auto reading = busy(share(random), 700 * share(random), 2000 * share(random));
      reading.slowdowns = slowdowns;
      reading.ecc_errors = static_cast<std::uint64_t>(i / 10);
      if (share(random) < 0.1) reading.utilisation.reset();
      whole.add(reading, at);
      cut.add(reading, at);
      if (share(random) < 0.2) parts.push_back(cut.take(at));
      at += share(random) * 2;
    }
    parts.push_back(cut.take(at));
    const GpuUse all = whole.take(at);
    GpuUse sum;
    for (const GpuUse& part : parts) {
      sum.seconds += part.seconds;
      sum.power.sum += part.power.sum;
      sum.utilisation.sum += part.utilisation.sum;
      sum.slowed += part.slowed;
      sum.ecc_errors += part.ecc_errors;
      EXPECT_LE(part.slowed, part.slowdowns_known);
      for (const double by : part.slowed_by) EXPECT_LE(by, part.slowed);
      if (const auto mean = part.utilisation.mean()) {
        EXPECT_GE(*mean, part.utilisation.least - 1e-12);
        EXPECT_LE(*mean, part.utilisation.most + 1e-12);
      }
    }
    EXPECT_NEAR(sum.seconds, all.seconds, 1e-9);
    EXPECT_NEAR(sum.power.sum, all.power.sum, 1e-6);
    EXPECT_NEAR(sum.utilisation.sum, all.utilisation.sum, 1e-9);
    EXPECT_NEAR(sum.slowed, all.slowed, 1e-9);
    EXPECT_EQ(sum.ecc_errors, all.ecc_errors);
  }
}

}  // namespace
}  // namespace dllaunch
