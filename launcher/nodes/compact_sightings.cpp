#include "launcher/nodes/compact_sightings.hpp"

#include <algorithm>
#include <cstdint>
#include <map>
#include <string>
#include <tuple>

#include "launcher/nodes/judge_nodes.hpp"
#include "launcher/preflight/outliers.hpp"

namespace dllaunch {
namespace {

constexpr std::size_t most_of_a_kind = 32;  // observations of one node that are not summed

bool is_summed(const NodeSighting& seen) {
  return seen.kind == SightingKind::used || seen.kind == SightingKind::late;
}

/// The mean time keeps what forgetting makes of the sum.
void add(const NodeSighting& more, NodeSighting& sum) {
  const double both = sum.value + more.value;
  const double share = both > 0 ? more.value / both : 0.5;
  sum.time += share * (more.time - sum.time);
  sum.value = both;
  sum.of += more.of;
  sum.run = more.run;
}

std::vector<NodeSighting> summed(const std::vector<NodeSighting>& all) {
  using Key = std::tuple<SightingKind, std::string, std::string, std::int64_t>;
  std::map<Key, NodeSighting> sums;
  std::vector<NodeSighting> rest;
  for (const auto& one : all) {
    if (!is_summed(one)) {
      rest.push_back(one);
      continue;
    }
    const auto day = static_cast<std::int64_t>(one.time / day_s);
    const auto [at, is_new] = sums.try_emplace({one.kind, one.cluster, one.nodes, day}, one);
    if (!is_new) add(one, at->second);
  }
  for (auto& [key, sum] : sums) rest.push_back(std::move(sum));
  return rest;
}

/// `newest_first`.
std::vector<NodeSighting> limited(std::vector<NodeSighting> newest_first) {
  using Key = std::tuple<SightingKind, std::string, std::string, std::string>;
  std::map<Key, std::size_t> counts;
  std::erase_if(newest_first, [&](const NodeSighting& one) {
    return !is_summed(one) &&
           ++counts[{one.kind, one.cluster, one.nodes, one.what}] > most_of_a_kind;
  });
  return newest_first;
}

}  // namespace

std::vector<NodeSighting> compact_sightings(std::vector<NodeSighting> all, double now,
                                            std::size_t most_bytes) {
  if (all.empty()) return all;
  std::vector<double> times;
  for (const auto& one : all) times.push_back(one.time);
  const double usual = median_of(std::move(times));
  constexpr double long_s = forgotten_after_days * day_s;
  const double clock = now <= usual + long_s ? now : usual;
  std::erase_if(all, [&](const auto& one) {
    return one.time < clock - long_s || one.time > std::max(now, usual + long_s);
  });
  auto kept = summed(all);
  // Newest first; what speaks against a node before uses, so that uses are dropped first.
  std::ranges::stable_sort(kept, [](const auto& a, const auto& b) {
    const bool a_used = a.kind == SightingKind::used;
    const bool b_used = b.kind == SightingKind::used;
    return a_used != b_used ? b_used : a.time > b.time;
  });
  kept = limited(std::move(kept));
  std::size_t bytes = 0;
  const auto end = std::ranges::find_if(
      kept, [&](const auto& one) { return (bytes += line_of(one).size()) > most_bytes; });
  kept.erase(end, kept.end());
  std::ranges::stable_sort(kept, {}, &NodeSighting::time);
  return kept;
}

std::string newest_within(const std::vector<std::string>& lines, std::size_t most_bytes) {
  std::size_t bytes = 0;
  auto first = lines.size();
  while (first > 0 && bytes + lines[first - 1].size() <= most_bytes) bytes += lines[--first].size();
  std::string text;
  for (; first < lines.size(); ++first) text += lines[first];
  return text;
}

}  // namespace dllaunch
