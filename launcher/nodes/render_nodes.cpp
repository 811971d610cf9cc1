#include "launcher/nodes/render_nodes.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "launcher/base/table.hpp"
#include "support/counted.hpp"

namespace dllaunch {
namespace {

std::string_view word_of(NodeGrade grade) {
  return node_grade_names[static_cast<std::size_t>(grade)];
}

std::string hours_words(double seconds) {
  constexpr double minute_s = 60;
  constexpr double hour_s = 3600;
  if (seconds < 2 * minute_s) return fmt::format("{:.0f} s", seconds);
  if (seconds < hour_s) return fmt::format("{:.0f} min", std::floor(seconds / minute_s));
  return fmt::format("{:.0f} h", seconds / hour_s);
}

}  // namespace

std::string render_nodes(const std::vector<NodeJudgement>& judged, double now,
                         std::size_t most_good) {
  const auto differs = [&](const auto& one) { return one.cluster != judged.front().cluster; };
  const bool clusters = std::ranges::any_of(judged, differs);
  std::vector<TableRow> rows = {{"NODE", "JUDGEMENT", "SEEN", "USED", "WHY"}};
  if (clusters) rows.front().insert(rows.front().begin(), "CLUSTER");
  std::size_t counts[std::size(node_grade_names)] = {};
  for (const auto& one : judged) {
    auto& count = counts[static_cast<std::size_t>(one.grade)];
    if (++count > most_good && one.grade == NodeGrade::good) continue;
    TableRow row = {one.node, std::string(word_of(one.grade)), age_words(now - one.seen_s) + " ago",
                    hours_words(one.used_s), one.why};
    if (clusters) row.insert(row.begin(), one.cluster);
    rows.push_back(std::move(row));
  }
  return table_text(rows) + fmt::format("{}: {} to avoid, {} to watch, {} good\n",
                                        counted(static_cast<int>(judged.size()), "node"), counts[2],
                                        counts[1], counts[0]);
}

Json to_json(const std::vector<NodeJudgement>& judged) {
  Json nodes = Json::array();
  for (const auto& one : judged)
    nodes.push_back({{"cluster", one.cluster},
                     {"node", one.node},
                     {"judgement", std::string(word_of(one.grade))},
                     {"score", one.score},
                     {"why", one.why},
                     {"seen", one.seen_s},
                     {"used_seconds", one.used_s},
                     {"failures", one.failures},
                     {"late_share", one.late_share},
                     {"speed_share", one.speed_share}});
  return nodes;
}

}  // namespace dllaunch
