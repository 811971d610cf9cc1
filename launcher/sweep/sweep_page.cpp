#include "launcher/sweep/sweep_page.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>

#include "launcher/base/version.hpp"
#include "launcher/drawing/markup.hpp"
#include "launcher/drawing/number_table.hpp"
#include "launcher/drawing/svg.hpp"
#include "launcher/drawing/ticks.hpp"
#include "support/counted.hpp"

namespace dllaunch {
namespace {

/// Beyond these a picture is a blot and a page too large; sweep.json has all.
constexpr std::size_t most_rows = 1000;
constexpr std::size_t most_pictures = 8;

bool has_value(const Trial& trial) {
  return trial.state != TrialState::failed && trial.value().has_value();
}

std::string trials_table(const Sweep& sweep) {
  std::vector<std::string> head = {"trial", "state", sweep.metric, "epochs"};
  std::vector<std::string> names;
  if (!sweep.trials.empty())
    for (const auto& [name, value] : sweep.trials.front().parameters.items()) names.push_back(name);
  head.insert(head.end(), names.begin(), names.end());
  head.emplace_back("run");
  head.emplace_back("reason");
  std::vector<std::vector<std::string>> rows;
  for (const Trial* trial : ranked(sweep)) {
    if (rows.size() == most_rows) break;
    const auto value = trial->value();
    rows.push_back({std::to_string(trial->number), std::string(to_string(trial->state)),
                    value ? short_number(*value, 6) : "", std::to_string(trial->epochs())});
    for (const auto& name : names) {
      const auto found = trial->parameters.find(name);
      const bool there = found != trial->parameters.end();
      rows.back().push_back(!there                     ? ""
                            : found->is_number_float() ? short_number(found->get<double>(), 5)
                            : found->is_string()       ? found->get<std::string>()
                                                       : found->dump());
    }
    rows.back().push_back(trial->run);
    rows.back().push_back(trial->reason);
  }
  return html_table(head, rows);
}

std::string figure_of(const LineChart& chart) {
  return has_points(chart) ? figure(chart.title, draw(chart), numbers_of(chart)) : "";
}

std::string result_of(const Sweep& sweep) {
  const Trial* best = best_of(sweep);
  if (best == nullptr) return "No trial has a value yet.";
  return fmt::format("The best {} is {}: trial {}, {}, after {}.", sweep.metric,
                     short_number(*best->value(), 6), best->number,
                     shown_parameters(best->parameters), counted(best->epochs(), "epoch"));
}

}  // namespace

LineChart trials_chart(const Sweep& sweep) {
  LineChart chart{
      .title = "Trials", .x = {.title = "trial", .whole = true}, .y = {.title = sweep.metric}};
  Series each{.name = "trial", .marked = true, .joined = false};
  Series best{.name = "best so far"};
  std::optional<double> so_far;
  for (const Trial& trial : sweep.trials) {
    if (!has_value(trial)) continue;
    const double value = *trial.value();
    if (!so_far || (sweep.minimize ? value < *so_far : value > *so_far)) so_far = value;
    const auto x = static_cast<double>(trial.number);
    each.points.push_back({.x = x, .y = value});
    best.points.push_back({.x = x, .y = *so_far});
  }
  chart.series = {std::move(each), std::move(best)};
  return chart;
}

LineChart epochs_chart(const Sweep& sweep) {
  LineChart chart{.title = "The best trials, epoch by epoch",
                  .x = {.title = "epochs", .whole = true},
                  .y = {.title = sweep.metric}};
  for (const Trial* trial : ranked(sweep)) {
    if (chart.series.size() == svg_colors) break;
    if (trial->values.size() < 2 || !has_value(*trial)) continue;
    Series series{.name = fmt::format("trial {}", trial->number)};
    for (const auto& [epoch, value] : trial->values)
      series.points.push_back({.x = static_cast<double>(epoch), .y = value});
    chart.series.push_back(std::move(series));
  }
  return chart;
}

std::vector<LineChart> parameter_charts(const Sweep& sweep, const std::vector<Parameter>& space) {
  std::vector<LineChart> charts;
  for (const Parameter& parameter : space) {
    if (charts.size() == most_pictures) break;
    const auto& name = parameter.name;
    LineChart chart{.title = name,
                    .x = {.title = name,
                          .logarithmic = parameter.range == Range::log,
                          .whole = parameter.range == Range::whole},
                    .y = {.title = sweep.metric}};
    Series series{.name = "trial", .marked = true, .joined = false};
    for (const Trial& trial : sweep.trials) {
      const auto found = trial.parameters.find(name);
      if (found == trial.parameters.end() || !found->is_number() || !has_value(trial)) continue;
      series.points.push_back({.x = found->get<double>(), .y = *trial.value()});
    }
    if (series.points.empty()) continue;
    std::ranges::sort(series.points, {}, &Point::x);
    chart.series = {std::move(series)};
    charts.push_back(std::move(chart));
  }
  return charts;
}

Page sweep_page(const Sweep& sweep, const std::vector<Parameter>& space, const std::string& dir) {
  Page page{.title = sweep.name + ": sweep",
            .note = fmt::format("{}; dllaunch {}", dir, version())};
  std::string content = element("p", "", markup(result_of(sweep))) + "<div class=figures>\n" +
                        figure_of(trials_chart(sweep)) + figure_of(epochs_chart(sweep));
  for (const LineChart& chart : parameter_charts(sweep, space)) content += figure_of(chart);
  content += "</div>\n";
  page.sections.push_back({.id = "result", .title = "Result", .content = content});
  std::string table = "<div class=scroll>" + trials_table(sweep) + "</div>\n";
  if (sweep.trials.size() > most_rows)
    table += element("p", "",
                     markup(fmt::format("The best {} of {}; sweep.json has all.", most_rows,
                                        sweep.trials.size())));
  page.sections.push_back({.id = "trials", .title = "Trials", .content = table});
  return page;
}

}  // namespace dllaunch
