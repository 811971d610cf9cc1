#include "launcher/failures/failure_forecast.hpp"

#include <gtest/gtest.h>

namespace dllaunch {
namespace {

constexpr double day_s = 86400;
constexpr FailureRates often = {.node_mtbf_s = 60 * day_s};

TEST(FailureForecast, DalysIntervalIsYoungsForCheapCheckpoints) {
  EXPECT_NEAR(daly_interval_s(1, 1e6), 1414, 2);
  // sqrt(2 60 3600) (1 + sqrt(1/120) / 3 + 1/1080) - 60
  EXPECT_NEAR(daly_interval_s(60, 3600), 617.88, 0.01);
  EXPECT_EQ(daly_interval_s(100, 40), 100) << "saving takes longer than nodes live";
  EXPECT_EQ(daly_interval_s(0, 3600), 1) << "checkpoints cost nothing";
}

TEST(FailureForecast, NoIntervalIsBetterThanTheBest) {
  for (const int nodes : {16, 128, 512}) {
    RecoveryRules rules{.nodes = nodes, .spare_nodes = 2, .max_restarts = 1000};
    const auto best = forecast_run(often, rules, {.save_s = 120}, 14 * day_s);
    for (const double factor : {0.25, 0.5, 0.7, 1.4, 2.0, 4.0}) {
      rules.interval_s = best.rules.interval_s * factor;
      const auto other = forecast_run(often, rules, {.save_s = 120}, 14 * day_s);
      EXPECT_LT(other.effective.mean, best.effective.mean + 0.001) << nodes << " x " << factor;
    }
  }
}

TEST(FailureForecast, IsTheSameEachTime) {
  const RecoveryRules rules{.nodes = 64, .spare_nodes = 1};
  const auto one = forecast_failures(often, rules, {}, 7 * day_s);
  const auto other = forecast_failures(often, rules, {}, 7 * day_s);
  EXPECT_EQ(one.run.elapsed_s.p90, other.run.elapsed_s.p90);
  EXPECT_EQ(one.plain.effective.mean, other.plain.effective.mean);
}

TEST(FailureForecast, SparesPayWhereTheQueueIsLong) {
  const RecoveryRules rules{.nodes = 256, .max_restarts = 100};
  const auto dear = forecast_failures(often, rules, {.queue_s = 6 * 3600}, 14 * day_s);
  EXPECT_GE(dear.best_spares, 2);
  EXPECT_GT(dear.spares[static_cast<std::size_t>(dear.best_spares)].effective.mean,
            dear.spares[0].effective.mean + 0.05);
  const auto free = forecast_failures(often, {.nodes = 2}, {.queue_s = 0}, 14 * day_s);
  EXPECT_EQ(free.best_spares, 0) << "half a job more, for nothing";
}

TEST(FailureForecast, RecoveryHereBeatsTheQueue) {
  const auto forecast =
      forecast_failures(often, {.nodes = 128, .spare_nodes = 2, .max_restarts = 3}, {}, 7 * day_s);
  EXPECT_GT(forecast.run.effective.mean, forecast.plain.effective.mean);
  EXPECT_GE(forecast.unlimited.effective.mean, forecast.run.effective.mean);
  EXPECT_LT(forecast.run.elapsed_s.p10, forecast.run.elapsed_s.p90);
  EXPECT_EQ(forecast.plain.rules.spare_nodes, 0);
  EXPECT_NEAR(forecast.mtbf_s, 60 * day_s / 128, 1);
}

/// Expected failures: enough runs for a spread, not more than a moment's worth.
TEST(FailureForecast, AHugeJobIsSimulatedLessOften) {
  EXPECT_EQ(forecast_run(often, {.nodes = 1}, {}, day_s).runs, 2000);
  EXPECT_EQ(forecast_run(often, {.nodes = 8192}, {}, 54 * day_s).runs, 20);
}

/// In rounds, because time depends on the machine: time limits cost some as failures do.
TEST(FailureForecast, ManyTimeLimitsAreSimulatedLessOften) {
  constexpr double most = 120'000;  // twice what is aimed at
  const RecoveryRules rules{.nodes = 2, .limit_s = 4 * 3600};
  const auto limited = forecast_run(often, rules, {}, 90 * day_s);
  EXPECT_GT(limited.rounds / limited.runs, 540) << "allocations";
  EXPECT_LT(limited.rounds, most);
  const auto hits = hit_rates(often, 2);
  EXPECT_GT(expected_rounds(hits, rules, {}, 90 * day_s), 540);
  EXPECT_GT(expected_rounds(hits, {.nodes = 2}, {}, 1400 * day_s), 100) << "fortnights";
}

TEST(FailureForecast, ALimitWithoutTrainingIsSimulatedOnce) {
  const FailureRates rare{.node_mtbf_s = 1e15};
  for (const double limit_s : {1.0, 120.0, 240.0}) {
    const auto run = forecast_run(rare, {.nodes = 2, .limit_s = limit_s},
                                  {.save_s = 0, .queue_s = 0}, 90 * day_s);
    EXPECT_EQ(run.rounds, run.runs) << limit_s;
    EXPECT_EQ(run.finished, 0);
    EXPECT_EQ(run.effective.mean, 0);
  }
}

TEST(FailureForecast, TheJobsOwnSpareNodesAreSimulated) {
  const FailureCosts dear{.queue_s = 12 * 3600};
  const auto forecast =
      forecast_failures({.node_mtbf_s = 10 * day_s},
                        {.nodes = 256, .spare_nodes = 20, .max_restarts = 1000}, dear, 14 * day_s);
  ASSERT_EQ(forecast.spares.size(), 10U);
  EXPECT_EQ(forecast.spares.back().rules.spare_nodes, 20);
  EXPECT_EQ(forecast.best_spares, 8);
  EXPECT_TRUE(forecast.more_spares_may_pay);
  const auto few = forecast_failures(often, {.nodes = 2, .spare_nodes = 20}, {.queue_s = 0}, day_s);
  EXPECT_EQ(few.best_spares, 0);
  EXPECT_FALSE(few.more_spares_may_pay);
  EXPECT_EQ(few.spares.back().rules.spare_nodes, 20);
}

}  // namespace
}  // namespace dllaunch
