#include "launcher/nodes/book_comparison.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

#include "launcher/nodes/judge_nodes.hpp"
#include "launcher/preflight/outliers.hpp"

namespace dllaunch {
namespace {

/// The measurements of one figure, by node, oldest first.
using Series = std::map<std::string, std::vector<std::pair<double, double>>>;  // time, value
using BookFigures = std::map<std::pair<std::string, std::string>, Series>;     // what, like

BookFigures book_figures(const std::vector<NodeSighting>& seen, const std::string& cluster,
                         double now) {
  BookFigures figures;
  for (const auto& one : seen) {
    const bool figure =
        one.kind == SightingKind::measured || one.kind == SightingKind::memory_error;
    if (figure && one.cluster == cluster && is_remembered(one.time, now))
      figures[{one.what, one.like}][one.nodes].emplace_back(one.time, one.value);
  }
  for (auto& [key, series] : figures)
    for (auto& [node, values] : series) std::ranges::stable_sort(values);
  return figures;
}

double median_value(const std::vector<std::pair<double, double>>& series) {
  std::vector<double> values;
  values.reserve(series.size());
  for (const auto& [time, value] : series) values.push_back(value);
  return median_of(std::move(values));
}

/// As in the checks of one pre-flight (cpu.cpp, gpu_speed_check.cpp).
double least_share(std::string_view what) {
  return what.starts_with("gpu") ? 0.85 : 0.7;
}

constexpr std::string_view history_fix =
    "measure again; if it stays so, leave the node out and tell the administrators (dllaunch "
    "nodes)";

PreflightResult memory_history(const NodeFigure& figure, double before, double age_s) {
  constexpr double many = 100;
  PreflightResult result{.name = "history", .item = figure.what};
  // After a boot the count begins anew.
  const double more = figure.value >= before ? figure.value - before : figure.value;
  result.value = fmt::format("{:.0f} more since {} ago", more, age_words(age_s));
  if (more < many) return result;
  result.level = Level::warn;
  result.why = "memory that needs many corrections may fail";
  result.fix = history_fix;
  return result;
}

PreflightResult speed_history(const NodeFigure& figure, const std::string& node,
                              const Series& series) {
  PreflightResult result{.name = "history", .item = figure.what};
  result.value = fmt::format("{:.1f}", figure.value);
  const auto judge = [&](double usual, const std::string& whose) {
    if (usual <= 0) return;
    result.value += fmt::format("; {}: {:.1f}", whose, usual);
    const double share = figure.value / usual;
    if (share >= least_share(figure.what)) return;
    result.level = Level::warn;
    result.why += fmt::format("{}{:.2f} of {}", result.why.empty() ? "" : ", ", share, whose);
    result.fix = history_fix;
  };
  if (const auto own = series.find(node); own != series.end())
    judge(median_value(own->second), "its own before");
  std::vector<double> others;
  for (const auto& [name, values] : series)
    if (name != node) others.push_back(values.back().second);
  judge(median_of(std::move(others)), "that of other nodes");
  return result;
}

}  // namespace

void compare_with_book(const std::vector<NodeSighting>& seen, const std::string& cluster,
                       double now, PreflightReport& report) {
  const auto figures = book_figures(seen, cluster, now);
  for (auto& verdict : report.nodes) {
    for (const auto& figure : verdict.measured) {
      const auto known = figures.find({figure.what, figure.like});
      if (known == figures.end()) continue;
      const auto own = known->second.find(verdict.node);
      if (figure.what != memory_errors_figure)
        verdict.checks.push_back(speed_history(figure, verdict.node, known->second));
      else if (own != known->second.end())
        verdict.checks.push_back(
            memory_history(figure, own->second.back().second, now - own->second.back().first));
    }
  }
}

}  // namespace dllaunch
