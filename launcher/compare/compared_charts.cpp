#include "launcher/compare/compared_charts.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "launcher/drawing/svg.hpp"

namespace dllaunch {
namespace {

struct Metric {
  const char* title;
  const char* unit;
  std::optional<double> ComparedEpoch::*member;
  bool logarithmic = false;
  bool from_zero = false;
};

constexpr Metric metrics[] = {
    {"Training loss", "loss", &ComparedEpoch::loss, true},
    {"Validation loss", "loss", &ComparedEpoch::val_loss, true},
    {"Training accuracy", "accuracy, share of images", &ComparedEpoch::accuracy},
    {"Validation accuracy", "accuracy, share of images", &ComparedEpoch::val_accuracy},
    {"Throughput", "images/s, all ranks", &ComparedEpoch::images_per_s, false, true}};

/// What each run's curve looks like. Colours come again after the last: those curves are dashed.
Series series_of(const ComparedRun& run, std::size_t number) {
  return {.name = run.label, .dashed = number / svg_colors % 2 == 1};
}

LineChart curves_of_metric(std::span<const ComparedRun> runs, const Metric& metric,
                           double seconds_per_unit) {
  constexpr std::size_t few = 30;
  const bool by_time = seconds_per_unit > 0;
  LineChart chart{
      .title = std::string(metric.title) + (by_time ? " over time" : " over epochs"),
      .x = {.title = !by_time                 ? "epoch"
                     : seconds_per_unit == 60 ? "minutes since the first start"
                                              : "seconds since the first start",
            .whole = !by_time},
      .y = {
          .title = metric.unit, .logarithmic = metric.logarithmic, .from_zero = metric.from_zero}};
  for (std::size_t i = 0; i < runs.size(); ++i) {
    auto series = series_of(runs[i], i);
    for (const ComparedEpoch& epoch : runs[i].epochs) {
      const auto& value = epoch.*(metric.member);
      if (value)
        series.points.push_back(
            {.x = by_time ? epoch.wall_s / seconds_per_unit : static_cast<double>(epoch.epoch),
             .y = *value});
    }
    series.marked = series.points.size() <= few;
    chart.series.push_back(std::move(series));
  }
  return chart;
}

/// Keeps its place, and so its colour, for a run without points.
bool is_worth_drawing(const LineChart& chart) {
  return has_points(chart);
}

Axis axis_of_ranks(std::span<const ComparedRun> runs) {
  std::set<int> ranks;
  for (const ComparedRun& run : runs)
    for (const ComparedSize& size : run.sizes) ranks.insert(size.ranks);
  return {.title = "ranks", .logarithmic = true, .at = {ranks.begin(), ranks.end()}};
}

}  // namespace

std::vector<LineChart> compared_curves(std::span<const ComparedRun> runs) {
  double longest_s = 0;
  for (const ComparedRun& run : runs)
    if (!run.epochs.empty()) longest_s = std::max(longest_s, run.epochs.back().wall_s);
  constexpr double most_in_seconds = 300;
  const double unit_s = longest_s > most_in_seconds ? 60 : 1;
  std::vector<LineChart> charts;
  for (const Metric& metric : metrics) {
    for (const double seconds : {0.0, unit_s}) {
      auto chart = curves_of_metric(runs, metric, seconds);
      if (is_worth_drawing(chart)) charts.push_back(std::move(chart));
    }
  }
  return charts;
}

std::vector<LineChart> compared_scaling(std::span<const ComparedRun> runs) {
  const Axis ranks = axis_of_ranks(runs);
  std::map<std::string, LineChart> values;
  LineChart efficiency{
      .title = "Efficiency", .x = ranks, .y = {.title = "efficiency, %", .from_zero = true}};
  for (std::size_t i = 0; i < runs.size(); ++i) {
    const ComparedRun& run = runs[i];
    if (run.sizes.empty()) continue;
    const std::string unit = run.unit.empty() ? "value" : run.unit;
    const auto [at, is_new] = values.try_emplace(unit);
    if (is_new)
      at->second = {.title = "Scaling", .x = ranks, .y = {.title = unit, .logarithmic = true}};
    auto measured = series_of(run, i);
    auto kept = series_of(run, i);
    measured.marked = kept.marked = true;
    for (const ComparedSize& size : run.sizes) {
      const auto x = static_cast<double>(size.ranks);
      measured.points.push_back({.x = x, .y = size.value, .low = size.low, .high = size.high});
      kept.points.push_back({.x = x, .y = 100 * size.efficiency});
    }
    at->second.series.push_back(std::move(measured));
    efficiency.series.push_back(std::move(kept));
  }
  std::vector<LineChart> charts;
  charts.reserve(values.size() + 1);
  for (auto& [unit, chart] : values) charts.push_back(std::move(chart));
  if (!charts.empty()) charts.push_back(std::move(efficiency));
  return charts;
}

}  // namespace dllaunch
