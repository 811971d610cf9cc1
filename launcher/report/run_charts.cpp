#include "launcher/report/run_charts.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "launcher/base/secrets.hpp"
#include "support/json_fields.hpp"

namespace dllaunch {
namespace {

template <typename Event, typename Number>
std::vector<Point> points_of(const std::vector<Event>& events, Number number) {
  std::vector<Point> points;
  for (const Event& event : events) {
    const auto [x, y] = number(event);
    if (x && y) points.push_back({.x = static_cast<double>(*x), .y = static_cast<double>(*y)});
  }
  return points;
}

std::optional<double> optional_of(std::int64_t value) {
  return static_cast<double>(value);
}

/// Whether a curve of that many points has dots.
bool is_short(std::size_t points) {
  return points <= 30;
}

/// The step after which an epoch ended.
std::optional<double> step_of(const EpochEvent& epoch) {
  return epoch.step ? optional_of(*epoch.step) : std::nullopt;
}

std::vector<Flag> restarts_of(const RunSeries& series) {
  std::vector<Flag> flags;
  for (const Restart& restart : series.history.restarts())
    flags.push_back(
        {.x = static_cast<double>(restart.step), .text = without_secrets(restart_words(restart))});
  return flags;
}

LineChart loss_of(const RunSeries& series) {
  LineChart chart{.title = "Loss",
                  .x = {.title = "step"},
                  .y = {.title = "loss", .logarithmic = true},
                  .flags = restarts_of(series)};
  chart.series.push_back({.name = "training", .points = points_of(series.steps, [](auto& step) {
                                                return std::pair(optional_of(step.step), step.loss);
                                              })});
  chart.series.push_back(
      {.name = "validation",
       .points = points_of(series.epochs,
                           [](auto& epoch) { return std::pair(step_of(epoch), epoch.val_loss); }),
       .marked = is_short(series.epochs.size())});
  return chart;
}

LineChart by_epoch(std::string title, std::string unit, std::vector<Series> series) {
  return {.title = std::move(title),
          .x = {.title = "epoch", .whole = true},
          .y = {.title = std::move(unit)},
          .series = std::move(series)};
}

LineChart accuracy_of(const RunSeries& series) {
  const bool marked = is_short(series.epochs.size());
  const auto of = [&](auto member) {
    return points_of(series.epochs, [member](const EpochEvent& epoch) {
      return std::pair(optional_of(epoch.epoch), epoch.*member);
    });
  };
  return by_epoch(
      "Accuracy", "accuracy, share of images",
      {{.name = "training", .points = of(&EpochEvent::accuracy), .marked = marked},
       {.name = "validation", .points = of(&EpochEvent::val_accuracy), .marked = marked}});
}

LineChart throughput_of(const RunSeries& series) {
  auto chart = by_epoch(
      "Throughput", "images/s, all ranks",
      {{.points = points_of(
            series.epochs,
            [](auto& epoch) { return std::pair(optional_of(epoch.epoch), epoch.images_per_s); }),
        .marked = is_short(series.epochs.size())}});
  chart.y.from_zero = true;
  return chart;
}

LineChart rate_of(const RunSeries& series) {
  return {.title = "Learning rate",
          .x = {.title = "step"},
          .y = {.title = "learning rate", .from_zero = true},
          .series = {{.points = points_of(series.steps, [](auto& step) {
                        return std::pair(optional_of(step.step), step.lr);
                      })}}};
}

struct GpuCurve {
  const char* key;  // of the `gpus` event
  const char* title;
  const char* unit;
  double scale;  // from the event's unit
};

constexpr GpuCurve gpu_curves[] = {
    {"utilisation", "GPU utilisation", "share of time, %", 100},
    {"memory_bytes", "GPU memory, peak", "GiB", 1.0 / (1 << 30)},
    {"power_w", "GPU power", "W", 1},
    {"sm_clock_mhz", "GPU clock", "MHz", 1},
    {"temperature_c", "GPU temperature, highest", "°C", 1},
    {"throttled", "GPU throttled", "share of time, %", 100},
};

/// The quantiles of a `gpus` event are minimum, 5 %, median, 95 % and maximum.
Point quantiles_of(const Json& event, const GpuCurve& curve) {
  const auto values = value_at<Json>(event, curve.key);
  const auto at = [&](std::size_t i) {
    return values.is_array() && i < values.size() && values[i].is_number()
               ? values[i].get<double>() * curve.scale
               : no_number;
  };
  return {
      .x = value_at<double>(event, "epoch", no_number), .y = at(2), .low = at(0), .high = at(4)};
}

/// The first rank of each node: those of one node stand together.
std::vector<std::size_t> groups_of(const RankTimes& times) {
  std::vector<std::size_t> groups;
  for (std::size_t i = 0; i < times.ranks.size(); ++i)
    if (i == 0 || times.ranks[i].host != times.ranks[i - 1].host) groups.push_back(i);
  return groups;
}

}  // namespace

std::vector<LineChart> curves_of(const RunSeries& series) {
  std::vector<LineChart> charts = {loss_of(series), accuracy_of(series), throughput_of(series),
                                   rate_of(series)};
  for (LineChart& chart : charts)
    std::erase_if(chart.series, [](const Series& one) { return one.points.empty(); });
  std::erase_if(charts, [](const LineChart& chart) { return !has_points(chart); });
  return charts;
}

std::vector<LineChart> gpu_charts_of(const RunSeries& series) {
  std::vector<LineChart> charts;
  for (const GpuCurve& curve : gpu_curves) {
    Series median{.name = "median of the ranks, with the least and the most",
                  .marked = is_short(series.gpus.size())};
    for (const Json& event : series.gpus) median.points.push_back(quantiles_of(event, curve));
    auto chart = by_epoch(curve.title, curve.unit, {std::move(median)});
    chart.y.from_zero = true;
    if (has_points(chart)) charts.push_back(std::move(chart));
  }
  return charts;
}

std::vector<HeatMap> heat_maps_of(const RankTimes& times) {
  if (times.ranks.empty()) return {};
  HeatMap parts{.title = "Seconds per epoch, by what a rank did",
                .unit = "s",
                .row_title = "rank, node",
                .groups = groups_of(times)};
  HeatMap delayed{.title = "Seconds that other ranks waited for a rank",
                  .unit = "s",
                  .row_title = "rank, node",
                  .column_title = "epoch",
                  .groups = parts.groups};
  // The last part is what others lost, not what the rank did.
  const auto own = rank_parts.size() - 1;
  for (std::size_t i = 0; i < own; ++i)
    parts.columns.emplace_back(rank_parts[i] == "communication" ? "comm." : rank_parts[i]);
  for (const auto epoch : times.epochs) delayed.columns.push_back(std::to_string(epoch));
  for (std::size_t r = 0; r < times.ranks.size(); ++r) {
    const auto& rank = times.ranks[r];
    parts.rows.push_back(fmt::format("{}, {}", rank.rank, rank.host));
    parts.values.insert(parts.values.end(), rank.mean.begin(), rank.mean.begin() + own);
    delayed.values.insert(delayed.values.end(), times.delayed[r].begin(), times.delayed[r].end());
  }
  delayed.rows = parts.rows;
  std::vector<HeatMap> maps;
  maps.push_back(std::move(parts));
  if (times.ranks.size() > 1) maps.push_back(std::move(delayed));
  return maps;
}

TimeBars starts_of(const RunSeries& series) {
  enum Kind : std::size_t { training, lost, down };
  TimeBars bars{.title = "Starts of the run",
                .kinds = {"training", "lost: trained again", "down: no training"}};
  if (series.starts.size() < 2) return bars;
  const auto& restarts = series.history.restarts();
  const double began_s = series.starts.front().from_s;
  // The newest restarts are known: the last belongs to the last start.
  const auto first = static_cast<std::ptrdiff_t>(series.starts.size()) - 1 -
                     static_cast<std::ptrdiff_t>(restarts.size());
  for (std::size_t i = 0; i < series.starts.size(); ++i) {
    const double from = series.starts[i].from_s - began_s;
    const double to = series.starts[i].to_s - began_s;
    TimeRow row{
        .label = fmt::format("start {}", i + 1 + static_cast<std::size_t>(series.starts_left_out))};
    const auto next = static_cast<std::ptrdiff_t>(i) - first;
    if (next >= 0 && next < std::ssize(restarts)) {
      const Restart& restart = restarts[static_cast<std::size_t>(next)];
      const double cut = std::max(from, to - restart.lost_seconds);
      row.parts = {{.from_s = from, .to_s = cut, .kind = training},
                   {.from_s = cut, .to_s = to, .kind = lost}};
      if (restart.down_seconds)
        row.parts.push_back({.from_s = to, .to_s = to + *restart.down_seconds, .kind = down});
      row.text = without_secrets(restart_words(restart));
    } else {
      row.parts = {{.from_s = from, .to_s = to, .kind = training}};
    }
    bars.rows.push_back(std::move(row));
  }
  return bars;
}

}  // namespace dllaunch
