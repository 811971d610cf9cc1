#include "launcher/failures/book_rates.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "launcher/base/shown_line.hpp"
#include "launcher/base/time_span.hpp"
#include "launcher/nodes/judge_nodes.hpp"
#include "launcher/slurm/host_list.hpp"
#include "support/counted.hpp"

namespace dllaunch {
namespace {

/// In one moment, by their jobs. Nodes of one list may be told of in several lines.
using Start = std::tuple<std::string, double, double>;
Start start_of(const NodeSighting& one) {
  return {one.run, one.time, one.value};
}

struct Observed {
  double node_s = 0;                         // of ranks on nodes
  std::map<Start, std::size_t> widths = {};  // their nodes
  std::set<std::string> nodes = {};
  double from_s = std::numeric_limits<double>::infinity();  // the day of the oldest use
  /// Moments and nodes by jobs: a node may be told of twice.
  std::map<std::string, std::set<std::pair<double, std::string>>> failures = {};
  int doubtful = 0;
};

bool may_be_failure(const NodeSighting& one) {
  return one.kind == SightingKind::failed || one.kind == SightingKind::corrupted;
}

/// That ranks had nodes, within the time that the book remembers.
bool is_use(const NodeSighting& one, double now) {
  return one.kind == SightingKind::used && one.value > 0 && is_remembered(one.time, now);
}

std::vector<std::string> used_nodes(const NodeSighting& one) {
  auto hosts = expand_hosts(one.nodes);
  return hosts ? *std::move(hosts) : std::vector<std::string>();
}

Observed observe(const std::vector<NodeSighting>& seen, const std::string& cluster, double now) {
  Observed all;
  std::map<std::string_view, std::size_t> nodes_of_list;
  for (const auto& one : seen) {
    if (one.cluster != cluster || !is_use(one, now)) continue;
    const auto [list, is_new] = nodes_of_list.try_emplace(one.nodes, 0);
    if (is_new) {
      const auto hosts = used_nodes(one);
      list->second = hosts.size();
      all.nodes.insert(hosts.begin(), hosts.end());
    }
    if (list->second == 0) continue;
    all.node_s += one.value * static_cast<double>(list->second);
    all.widths[start_of(one)] += list->second;
    all.from_s = std::min(all.from_s, std::floor(one.time / day_s) * day_s);
  }
  for (const auto& one : seen) {
    if (!may_be_failure(one) || one.cluster != cluster || one.time < all.from_s) continue;
    if (!is_remembered(one.time, now)) continue;
    if (one.value >= 1)
      all.failures[one.run].emplace(one.time, one.nodes);
    else
      ++all.doubtful;
  }
  return all;
}

/// What a job loses together. A switch that takes one node each from twenty jobs interrupts twenty
/// times, but is one observation.
struct JointFailures {
  std::vector<double> shares = {};  // as FailureGroups::shares
  std::int64_t failures = 0;
  std::size_t observations = 0;
};
JointFailures joint_failures(const Observed& all) {
  JointFailures joint;
  std::vector<double> everywhere;
  double groups = 0;
  for (const auto& [run, failures] : all.failures) {
    std::vector<double> moments;
    for (const auto& [time, node] : failures) moments.push_back(time);
    everywhere.insert(everywhere.end(), moments.begin(), moments.end());
    const auto own = group_failures(std::move(moments));
    joint.shares.resize(std::max(joint.shares.size(), own.shares.size()));
    for (std::size_t i = 0; i < own.shares.size(); ++i)
      joint.shares[i] += own.shares[i] * static_cast<double>(own.begins.size());
    groups += static_cast<double>(own.begins.size());
  }
  for (double& share : joint.shares) share /= groups;
  joint.failures = std::ssize(everywhere);
  joint.observations = group_failures(std::move(everywhere)).begins.size();
  return joint;
}

Result<std::string> only_cluster(const std::vector<NodeSighting>& seen, const std::string& wanted,
                                 double now) {
  std::set<std::string> clusters;
  for (const auto& one : seen)
    if (!clusters.contains(one.cluster) && is_use(one, now) && !used_nodes(one).empty())
      clusters.insert(one.cluster);
  if (clusters.empty())
    return Error{ErrorKind::unsatisfiable,
                 seen.empty() ? "the node book has no run yet"
                              : fmt::format("the node book has no run of the last {:.0f} days",
                                            forgotten_after_days),
                 "name a cluster profile or a CSV file of outages until runs have written it"};
  if (wanted.empty() && clusters.size() == 1) return *clusters.begin();
  if (!wanted.empty() && clusters.contains(wanted)) return wanted;
  clusters.erase("");
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
  const auto name = only_cluster(seen, cluster, now);
  if (!name) return name.error();
  const auto all = observe(seen, *name, now);
  const auto doubts =
      all.doubtful > 0 ? fmt::format("; {} that may be of programs not counted", all.doubtful) : "";
  if (all.failures.empty()) {
    // The largest rate at which none are seen in one of twenty cases: exp(-rate T) = 0.05.
    constexpr double surprise = 3.0;
    return Error{
        ErrorKind::unsatisfiable,
        fmt::format("the node book has no failure of a node in {}{}", hours(all.node_s), doubts),
        fmt::format("give the rate that you expect in a cluster profile; by the book a node fails "
                    "at most once in {} (19 of 20 cases)",
                    time_span(all.node_s / surprise))};
  }
  auto joint = joint_failures(all);
  const auto days = static_cast<std::int64_t>(std::max(0.0, now - all.from_s) / day_s) + 1;
  auto source =
      fmt::format("node book: {} in {} on {} in {}", counted(joint.failures, "failure"),
                  hours(all.node_s), counted(std::ssize(all.nodes), "node"), counted(days, "day"));
  if (!name->empty()) source += " of cluster " + *name;
  source += doubts;
  const auto widest =
      std::ranges::max_element(all.widths, {}, [](const auto& start) { return start.second; });
  return FailureRates{.node_mtbf_s = all.node_s / static_cast<double>(joint.failures),
                      .uncertain = 1 / std::sqrt(static_cast<double>(joint.observations)),
                      .groups = std::move(joint.shares),
                      .fleet = static_cast<int>(widest->second),
                      .source = std::move(source)};
}

}  // namespace dllaunch
