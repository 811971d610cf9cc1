// The forecast against the published trace of 400 GPU servers over 348 days.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <iostream>

#include "launcher/failures/failure_forecast.hpp"
#include "tests/launcher/failures/replayed_run.hpp"

namespace dllaunch {
namespace {

constexpr double day_s = 86400;
constexpr double two_points = 0.02;
constexpr double three_points = 0.03;

/// Runs that begin at moments evenly spread over the trace.
struct Replayed {
  std::vector<SimulatedRun> runs;

  double mean(auto&& number) const {
    double sum = 0;
    for (const auto& run : runs) sum += number(run);
    return sum / static_cast<double>(runs.size());
  }
  double effective() const {
    return mean([](const SimulatedRun& run) { return run.effective(); });
  }
  double interruptions() const {
    return mean([](const SimulatedRun& run) { return run.interruptions; });
  }
  double quantile(double share) const {
    std::vector<double> all;
    for (const auto& run : runs) all.push_back(run.effective());
    std::ranges::sort(all);
    return all[static_cast<std::size_t>(share * static_cast<double>(all.size() - 1) + 0.5)];
  }
  double share_within(const Spread& spread) const {
    constexpr double rounding = 1e-9;
    return mean([&](const SimulatedRun& run) {
      const bool in =
          run.effective() >= spread.p10 - rounding && run.effective() <= spread.p90 + rounding;
      return in ? 1.0 : 0.0;
    });
  }
};

Replayed replay(const TracedFleet& fleet, const RecoveryRules& rules, const FailureCosts& costs,
                double work_s, std::pair<double, double> from_to_s) {
  constexpr int windows = 240;
  Replayed all;
  const double last = from_to_s.second - 1.6 * work_s;
  for (int i = 0; i < windows; ++i) {
    const double begin = from_to_s.first + (last - from_to_s.first) * i / (windows - 1);
    const auto run = replay_run(fleet, rules, costs, work_s, begin, static_cast<std::uint64_t>(i));
    EXPECT_TRUE(run.finished) << "window " << i;
    all.runs.push_back(run);
  }
  return all;
}

class PublishedTrace : public testing::Test {
 protected:
  void SetUp() override {
    const auto csv = published_trace_csv();
    if (csv.empty()) GTEST_SKIP() << "no trace: ../shared/data/failures";
    auto read = parse_outages(csv, "trace.csv");
    ASSERT_TRUE(read) << read.error().what;
    trace_ = *std::move(read);
  }
  FailureRates rates_of(const NodeOutages& seen) {
    auto rates = fit_failure_rates(seen, "trace.csv");
    EXPECT_TRUE(rates);
    return *std::move(rates);
  }
  /// What of the trace lies in days `from` to `to`.
  NodeOutages between(double from, double to) const {
    NodeOutages part = trace_;
    part.from_s = from * day_s;
    part.until_s = to * day_s;
    std::erase_if(part.all, [&](const NodeOutage& one) {
      return one.failed_s < part.from_s || one.failed_s >= part.until_s;
    });
    for (auto& one : part.all) one.repaired_s = std::min(one.repaired_s, part.until_s);
    return part;
  }

  NodeOutages trace_;
};

/// The costs of ../shared/data/README.md, of which it has its own figures.
constexpr FailureCosts in_allocation = {
    .save_s = 2, .detect_s = 60, .node_down_s = 300, .restart_s = 30, .queue_s = 3600};
constexpr FailureCosts through_queue = {
    .save_s = 60, .detect_s = 600, .node_down_s = 600, .restart_s = 300, .queue_s = 3600};
constexpr RecoveryRules recovers = {.spare_nodes = 2, .max_restarts = 1000, .interval_s = 600};
constexpr RecoveryRules requeues = {.max_restarts = 0, .interval_s = 3600};

TEST_F(PublishedTrace, IsReadWhole) {
  EXPECT_EQ(trace_.all.size(), 582U);
  const auto rates = rates_of(trace_);
  EXPECT_NEAR(rates.node_mtbf_s / day_s, 323, 3);
  EXPECT_NEAR(rates.repair_s / day_s, 5.55, 0.05);
  std::cout << fmt::format(
      "uneven {:.2f} between fortnights, {:.2f} between nodes, groups {:.3f} of 1, largest {}\n",
      rates.uneven_times, rates.uneven_nodes, rates.groups[0], rates.groups.size());
}

void compare(const NodeOutages& trace, const FailureRates& rates, std::pair<double, double> from_to,
             double tails) {
  const TracedFleet fleet(trace);
  const double work_s = 14 * day_s;
  for (const bool whole : {false, true}) {
    for (const int nodes : {32, 128, 256}) {
      auto rules = whole ? requeues : recovers;
      rules.nodes = nodes;
      const auto& costs = whole ? through_queue : in_allocation;
      const auto forecast = forecast_run(rates, rules, costs, work_s);
      const auto seen = replay(fleet, rules, costs, work_s, from_to);
      std::cout << fmt::format(
          "{:<14} {:>3} nodes  forecast {:.4f} ({:.4f}..{:.4f}) {:5.1f}   replay {:.4f} "
          "({:.4f}..{:.4f}) {:5.1f}   {:.0f} % within\n",
          whole ? "requeue" : "in allocation", nodes, forecast.effective.mean,
          forecast.effective.p10, forecast.effective.p90, forecast.interruptions.mean,
          seen.effective(), seen.quantile(0.1), seen.quantile(0.9), seen.interruptions(),
          100 * seen.share_within(forecast.effective));
      EXPECT_NEAR(forecast.effective.mean, seen.effective(), two_points);
      EXPECT_NEAR(forecast.effective.p10, seen.quantile(0.1), tails);
      EXPECT_NEAR(forecast.effective.p90, seen.quantile(0.9), tails);
    }
  }
}

TEST_F(PublishedTrace, ForecastIsWithinTwoPointsOfTheReplay) {
  compare(trace_, rates_of(trace_), {0, trace_.until_s}, two_points);
}

/// Months differ: what was seen in half a year says what the next half year brings.
TEST_F(PublishedTrace, EachHalfForecastsTheOther) {
  const double half = 174.5;
  std::cout << "rates of the first half, replay of the second\n";
  compare(trace_, rates_of(between(0, half)), {half * day_s, trace_.until_s}, three_points);
  std::cout << "rates of the second half, replay of the first\n";
  compare(trace_, rates_of(between(half, 349)), {0, half * day_s}, three_points);
}

}  // namespace
}  // namespace dllaunch
