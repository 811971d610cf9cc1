#include "launcher/study/study_page.hpp"

#include <fmt/format.h>

#include <utility>

#include "launcher/base/version.hpp"
#include "launcher/drawing/heat_map.hpp"
#include "launcher/drawing/markup.hpp"
#include "launcher/drawing/number_table.hpp"
#include "launcher/drawing/ticks.hpp"
#include "launcher/report/rank_times.hpp"
#include "support/counted.hpp"

namespace dllaunch {
namespace {

std::string unit_of(const Study& study) {
  return study.unit.empty() ? "value" : study.unit;
}

Axis ranks_axis(const StudyResult& result) {
  Axis axis{.title = "ranks", .logarithmic = true};
  for (const StudyPoint& point : result.points) axis.at.push_back(point.ranks);
  for (const StudyPrediction& one : result.predictions) axis.at.push_back(one.ranks);
  return axis;
}

/// The predictions, joined to the last measured point.
Series predicted(const StudyResult& result, double last, auto value_of) {
  Series series{.name = "predicted, 9 of 10 within the bars", .marked = true, .dashed = true};
  if (result.predictions.empty()) return series;
  series.points.push_back({.x = static_cast<double>(result.points.back().ranks), .y = last});
  for (const StudyPrediction& one : result.predictions) series.points.push_back(value_of(one));
  return series;
}

std::vector<int> all_ranks(const StudyResult& result) {
  std::vector<int> ranks;
  for (const StudyPoint& point : result.points) ranks.push_back(point.ranks);
  for (const StudyPrediction& one : result.predictions) ranks.push_back(one.ranks);
  return ranks;
}

/// Where the time of an epoch goes at each size.
HeatMap parts_map(const StudyResult& result) {
  HeatMap map{
      .title = "Where an epoch's time goes, mean over ranks", .unit = "%", .row_title = "ranks"};
  const std::size_t own = rank_parts.size() - 1;  // the last is what others lost
  for (std::size_t i = 0; i < own; ++i)
    map.columns.emplace_back(rank_parts[i] == "communication" ? "comm." : rank_parts[i]);
  for (const StudyPoint& point : result.points) {
    if (point.parts.empty()) continue;
    double all = 0;
    for (std::size_t i = 0; i < own; ++i) all += point.parts[i];
    map.rows.push_back(std::to_string(point.ranks));
    for (std::size_t i = 0; i < own; ++i)
      map.values.push_back(all > 0 ? 100 * point.parts[i] / all : 0);
  }
  return map;
}

std::string table_of(const Study& study, const StudyResult& result) {
  const auto number = [](double value) { return short_number(value, 5); };
  const auto range = [&](double low, double high) { return number(low) + " to " + number(high); };
  std::vector<std::vector<std::string>> rows;
  for (const StudyPoint& point : result.points) {
    rows.push_back(
        {std::to_string(point.ranks), std::to_string(point.nodes), number(point.value),
         range(point.low, point.high), point.epoch_s ? fmt::format("{:.2f}", *point.epoch_s) : "",
         fmt::format("{:.2f}", point.speedup), percent_text(point.efficiency), "measured"});
  }
  for (const StudyPrediction& one : result.predictions) {
    rows.push_back({std::to_string(one.ranks), "", number(one.value), range(one.low, one.high), "",
                    "", percent_text(one.efficiency), "predicted"});
  }
  return html_table(
      {"ranks", "nodes", unit_of(study), "range", "epoch, s", "speed-up", "efficiency", ""}, rows);
}

std::string model_of(const StudyResult& result) {
  if (!result.fit) return "";
  const ScalingFit& fit = *result.fit;
  const auto* g = fit.measured ? "m(p)" : fit.linear ? "(p - 1)" : "log2 p";
  std::string text = fit.scaling == Scaling::strong
                         ? fmt::format("t(p) = {:.4g} + {:.4g} / p + {:.4g} {}", fit.serial,
                                       fit.parallel, fit.exchange, g)
                         : fmt::format("t(p) = {:.4g} + {:.4g} {}", fit.serial, fit.exchange, g);
  return fmt::format("{}; it misses the measured sizes by {:.1f} %, repeats differ by {:.1f} %.",
                     text, 100 * fit.residual, 100 * result.spread);
}

}  // namespace

LineChart value_chart(const Study& study, const StudyResult& result) {
  LineChart chart{.title = study.trains ? "Throughput" : "Value",
                  .x = ranks_axis(result),
                  .y = {.title = unit_of(study), .logarithmic = true}};
  if (result.points.empty()) return chart;
  Series measured{.name = "measured", .marked = true};
  for (const StudyPoint& point : result.points)
    measured.points.push_back(
        {static_cast<double>(point.ranks), point.value, point.low, point.high});
  const StudyPoint& base = result.points.front();
  Series ideal{.name = "ideal", .dashed = true};
  for (const int ranks : all_ranks(result)) {
    const double more = static_cast<double>(ranks) / base.ranks;
    const bool constant = study.lower_is_better && study.scaling == Scaling::weak;
    const double value = constant                ? base.value
                         : study.lower_is_better ? base.value / more
                                                 : base.value * more;
    ideal.points.push_back({.x = static_cast<double>(ranks), .y = value});
  }
  chart.series = {std::move(measured), std::move(ideal),
                  predicted(result, result.points.back().value, [](const StudyPrediction& one) {
                    return Point{static_cast<double>(one.ranks), one.value, one.low, one.high};
                  })};
  return chart;
}

LineChart efficiency_chart(const Study& study, const StudyResult& result) {
  LineChart chart{.title = "Efficiency",
                  .x = ranks_axis(result),
                  .y = {.title = "efficiency, %", .from_zero = true}};
  if (result.points.empty()) return chart;
  Series measured{.name = "measured", .marked = true};
  for (const StudyPoint& point : result.points)
    measured.points.push_back({.x = static_cast<double>(point.ranks), .y = 100 * point.efficiency});
  Series wish{.name = fmt::format("wished: {}", percent_text(study.efficiency)), .dashed = true};
  for (const int ranks : all_ranks(result))
    wish.points.push_back({.x = static_cast<double>(ranks), .y = 100 * study.efficiency});
  chart.series = {
      std::move(measured), std::move(wish),
      predicted(result, 100 * result.points.back().efficiency, [](const StudyPrediction& one) {
        return Point{.x = static_cast<double>(one.ranks), .y = 100 * one.efficiency};
      })};
  return chart;
}

Page study_page(const Study& study, const StudyResult& result, const std::string& dir) {
  const auto add = [](const auto& chart) {
    return figure(chart.title, draw(chart), numbers_of(chart));
  };
  Page page{.title = study.name +
                     (study.scaling == Scaling::weak ? ": weak scaling" : ": strong scaling"),
            .note = fmt::format("{}; dllaunch {}", dir, version())};
  std::string content = element("p", "", markup(advice_of(study, result))) + "<div class=scroll>" +
                        table_of(study, result) + "</div>\n<div class=figures>\n";
  const auto value = value_chart(study, result);
  if (has_points(value)) content += add(value) + add(efficiency_chart(study, result));
  const auto parts = parts_map(result);
  if (!parts.rows.empty()) content += add(parts);
  content += "</div>\n";
  page.sections.push_back({.id = "result", .title = "Result", .content = content});
  std::string method = element(
      "p", "",
      study.scaling == Scaling::weak
          ? "Each rank has the same work at every size. Efficiency: the throughput of a rank, over "
            "that of a rank at the smallest size."
          : "The work is the same at every size. Speed-up: over the smallest size. Efficiency: "
            "speed-up over the ratio of ranks.");
  method += element("p", "", markup(model_of(result)));
  if (result.fit) method += element("p", "", markup(exchange_of(study, result) + "."));
  std::string failed;
  for (const StudyRun& run : study.runs) {
    if (!run.reason.empty())
      failed += element("li", "",
                        markup(fmt::format("{}, repeat {}: {}", counted(run.ranks, "rank"),
                                           run.repeat, run.reason)));
  }
  if (!failed.empty()) method += "<p>Without a value:</p>" + element("ul", "", failed);
  page.sections.push_back({.id = "method", .title = "Method", .content = method});
  return page;
}

}  // namespace dllaunch
