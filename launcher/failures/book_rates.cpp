#include "launcher/failures/book_rates.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>
#include <utility>

#include "launcher/base/shown_line.hpp"
#include "launcher/base/time_span.hpp"
#include "launcher/nodes/judge_nodes.hpp"
#include "launcher/slurm/host_list.hpp"
#include "support/counted.hpp"

namespace dllaunch {
namespace {

struct Observed {
  double node_s = 0;      // of ranks on nodes
  std::size_t width = 0;  // nodes of the largest start
  std::set<std::string> nodes = {};
  double from_s = std::numeric_limits<double>::infinity();  // the day of the oldest use
  std::set<std::pair<double, std::string>> failures = {};   // a node may be told of twice
  int doubtful = 0;
};

bool may_be_failure(const NodeSighting& one) {
  return one.kind == SightingKind::failed || one.kind == SightingKind::corrupted;
}

Observed observe(const std::vector<NodeSighting>& seen, const std::string& cluster, double now) {
  Observed all;
  for (const auto& one : seen) {
    const bool counts = one.kind == SightingKind::used && one.cluster == cluster && one.value > 0 &&
                        one.time >= now - forgotten_after_days * day_s;
    const auto hosts = counts ? expand_hosts(one.nodes) : Result(std::vector<std::string>());
    if (!hosts || hosts->empty()) continue;
    all.node_s += one.value * static_cast<double>(hosts->size());
    all.width = std::max(all.width, hosts->size());
    all.nodes.insert(hosts->begin(), hosts->end());
    all.from_s = std::min(all.from_s, std::floor(one.time / day_s) * day_s);
  }
  for (const auto& one : seen) {
    if (!may_be_failure(one) || one.cluster != cluster || one.time < all.from_s) continue;
    if (one.value >= 1)
      all.failures.emplace(one.time, one.nodes);
    else
      ++all.doubtful;
  }
  return all;
}

Result<std::string> only_cluster(const std::vector<NodeSighting>& seen, const std::string& wanted) {
  std::set<std::string> clusters;
  for (const auto& one : seen) clusters.insert(one.cluster);
  if (clusters.empty())
    return Error{ErrorKind::unsatisfiable, "the node book has no run yet",
                 "name a cluster profile or a CSV file of outages until runs have written it"};
  if (wanted.empty() && clusters.size() == 1) return *clusters.begin();
  if (clusters.contains(wanted)) return wanted;
  return Error{ErrorKind::bad_request,
               wanted.empty() ? "the node book has nodes of several clusters"
                              : "the node book has no node of cluster " + shown_line(wanted),
               shown_line(fmt::format("name one: book:{}", fmt::join(clusters, ", book:")))};
}

std::string hours(double seconds) {
  constexpr double hour_s = 3600;
  if (seconds < hour_s) return fmt::format("{:.1f} node-minutes", seconds / 60);
  const double value = seconds / hour_s;
  return fmt::format("{:.{}f} node-hours", value, value < 100 ? 1 : 0);
}

}  // namespace

Result<FailureRates> rates_of_book(const std::vector<NodeSighting>& seen,
                                   const std::string& cluster, double now) {
  const auto name = only_cluster(seen, cluster);
  if (!name) return name.error();
  const auto all = observe(seen, *name, now);
  if (all.failures.empty()) {
    // The largest rate at which none are seen in one of twenty cases: exp(-rate T) = 0.05.
    constexpr double surprise = 3.0;
    auto hint = std::string("give the rate that you expect in a cluster profile");
    if (all.node_s > 0)
      hint += fmt::format("; by the book alone a node may fail every {}, or never",
                          time_span(all.node_s / surprise));
    return Error{ErrorKind::unsatisfiable,
                 fmt::format("the node book has no failure of a node in {}", hours(all.node_s)),
                 std::move(hint)};
  }
  std::vector<double> moments;
  for (const auto& [time, node] : all.failures) moments.push_back(time);
  auto groups = group_failures(std::move(moments));
  const auto days = static_cast<std::int64_t>(std::max(0.0, now - all.from_s) / day_s) + 1;
  auto source =
      fmt::format("node book: {} in {} on {} in {}", counted(std::ssize(all.failures), "failure"),
                  hours(all.node_s), counted(std::ssize(all.nodes), "node"), counted(days, "day"));
  if (!name->empty()) source += " of cluster " + *name;
  if (all.doubtful > 0)
    source += fmt::format("; {} that may be of programs not counted", all.doubtful);
  return FailureRates{.node_mtbf_s = all.node_s / static_cast<double>(all.failures.size()),
                      .uncertain = 1 / std::sqrt(static_cast<double>(groups.begins.size())),
                      .groups = std::move(groups.shares),
                      .fleet = static_cast<int>(all.width),
                      .source = std::move(source)};
}

}  // namespace dllaunch
