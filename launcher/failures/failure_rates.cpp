#include "launcher/failures/failure_rates.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

namespace dllaunch {
namespace {

/// What counts vary beyond Poisson's law, as a coefficient of variation of the rate.
double beyond_poisson(const std::vector<double>& counts) {
  if (counts.size() < 2) return 0;
  double sum = 0;
  double squares = 0;
  for (const double count : counts) {
    sum += count;
    squares += count * count;
  }
  const auto n = static_cast<double>(counts.size());
  const double mean = sum / n;
  const double variance = (squares - n * mean * mean) / (n - 1);
  return mean > 0 ? std::sqrt(std::max(0.0, variance - mean)) / mean : 0;
}

/// Failures and time up of nodes as a job has them: from a moment on, the nodes that are up then,
/// each until its first failure, over a fortnight; of moments evenly spread over the period.
struct Exposure {
  double failures = 0;
  double up_s = 0;
};
Exposure exposure_of(const NodeOutages& seen) {
  const double horizon_s = std::min(rate_period_s, (seen.until_s - seen.from_s) / 2);
  constexpr int most_moments = 400;
  constexpr double most_steps = 2e7;
  const int moments = std::clamp(
      static_cast<int>(most_steps / static_cast<double>(seen.all.size())), 2, most_moments);
  const double step_s = (seen.until_s - seen.from_s - horizon_s) / (moments - 1);
  Exposure sum;
  for (int i = 0; i < moments; ++i) {
    const double begin = seen.from_s + i * step_s;
    double up_s = seen.nodes * horizon_s;
    // One node's outages follow each other.
    const std::string* gone = nullptr;
    for (const auto& outage : seen.all) {
      if (gone != nullptr && *gone == outage.node) continue;
      if (outage.repaired_s <= begin && outage.failed_s < begin) continue;
      if (outage.failed_s >= begin + horizon_s) continue;
      gone = &outage.node;
      up_s -= horizon_s - std::max(0.0, outage.failed_s - begin);
      if (outage.failed_s >= begin && !outage.began_before) sum.failures += 1;
    }
    sum.up_s += up_s;
  }
  return sum;
}

double mean_size(const std::vector<double>& groups) {
  double mean = 0;
  for (std::size_t i = 0; i < groups.size(); ++i) mean += groups[i] * static_cast<double>(i + 1);
  return groups.empty() ? 1 : mean;
}

double log_choose(int n, int k) {
  return std::lgamma(n + 1.0) - std::lgamma(k + 1.0) - std::lgamma(n - k + 1.0);
}

/// The probability that of `size` nodes out of `fleet`, `hit` are among `nodes`: hypergeometric.
double share_hit(int fleet, int nodes, int size, int hit) {
  if (hit > nodes || size - hit > fleet - nodes) return 0;
  return std::exp(log_choose(nodes, hit) + log_choose(fleet - nodes, size - hit) -
                  log_choose(fleet, size));
}

}  // namespace

FailureGroups group_failures(std::vector<double> moments) {
  std::ranges::sort(moments);
  FailureGroups groups;
  auto& [sizes, begins] = groups;
  int size = 0;
  for (std::size_t i = 0; i < moments.size(); ++i) {
    if (size == 0) begins.push_back(moments[i]);
    ++size;
    if (i + 1 < moments.size() && moments[i + 1] - begins.back() <= group_span_s) continue;
    if (sizes.size() < static_cast<std::size_t>(size)) sizes.resize(static_cast<std::size_t>(size));
    sizes[static_cast<std::size_t>(size) - 1] += 1;
    size = 0;
  }
  for (double& share : sizes) share /= static_cast<double>(begins.size());
  return groups;
}

MtbfRange mtbf_range(const FailureRates& rates) {
  if (!(rates.uncertain > 0)) return {rates.node_mtbf_s, rates.node_mtbf_s};
  constexpr double z = 1.2816;  // of the normal distribution, 10 % on each side
  const auto quantile = [](double shape, double side) {
    const double part = 1 / (9 * shape);
    return shape * std::pow(1 - part + side * std::sqrt(part), 3);
  };
  const double seen = 1 / (rates.uncertain * rates.uncertain);
  return {rates.node_mtbf_s * seen / quantile(seen + 1, z),
          rates.node_mtbf_s * seen / quantile(seen, -z)};
}

Result<FailureRates> fit_failure_rates(const NodeOutages& seen, std::string source) {
  const int failures = failures_in(seen);
  if (failures == 0)
    return Error{ErrorKind::unsatisfiable,
                 "no node failed in the period that it covers: there is nothing to forecast from",
                 "give the rate that you expect in a cluster profile: failures.node_mtbf"};
  const double period_s = seen.until_s - seen.from_s;
  double down_s = 0;
  std::map<std::string, double> by_node;
  for (const auto& outage : seen.all) {
    if (outage.began_before) continue;
    down_s += outage.repaired_s - outage.failed_s;
    by_node[outage.node] += 1;
  }
  const auto exposure = exposure_of(seen);
  if (!(exposure.up_s > 0 && exposure.failures > 0))
    return Error{ErrorKind::unsatisfiable, "too little is known of its nodes while they were up",
                 "write '# from:' and '# until:' into it: when the nodes were watched"};
  std::vector<double> moments;
  for (const auto& outage : seen.all)
    if (!outage.began_before) moments.push_back(outage.failed_s);
  auto [groups, begins] = group_failures(std::move(moments));
  std::vector<double> fortnights(
      static_cast<std::size_t>(std::clamp(period_s / rate_period_s, 0.0, 1e5)));
  for (const double begin : begins) {
    const auto index = static_cast<std::size_t>((begin - seen.from_s) / rate_period_s);
    if (index < fortnights.size()) fortnights[index] += 1;
  }
  std::vector<double> nodes(static_cast<std::size_t>(seen.nodes));
  std::ranges::transform(by_node, nodes.begin(), [](const auto& one) { return one.second; });
  return FailureRates{.node_mtbf_s = exposure.up_s / exposure.failures,
                      .repair_s = down_s / failures,
                      .uneven_times = beyond_poisson(fortnights),
                      .uneven_nodes = beyond_poisson(nodes),
                      .groups = std::move(groups),
                      .fleet = seen.nodes,
                      .source = std::move(source)};
}

HitRates hit_rates(const FailureRates& rates, int nodes) {
  const std::vector<double> groups = rates.groups.empty() ? std::vector{1.0} : rates.groups;
  const int most = static_cast<int>(groups.size());
  // A larger job than the fleet is taken to be hit by more groups, not by larger ones.
  const int fleet = std::max({rates.fleet, nodes, most});
  const double groups_per_s = fleet / rates.node_mtbf_s / mean_size(groups);
  // Of the product of two independent factors of mean 1.
  const double of_nodes = rates.uneven_nodes * rates.uneven_nodes / nodes;
  const double of_rate = rates.uncertain * rates.uncertain;
  HitRates hits{.nodes = nodes,
                .uneven_times = rates.uneven_times,
                .uneven_run = std::sqrt(of_nodes + of_rate + of_nodes * of_rate)};
  hits.shares.resize(static_cast<std::size_t>(std::min(most, nodes)));
  for (int size = 1; size <= most; ++size) {
    const double share = groups[static_cast<std::size_t>(size) - 1];
    if (share <= 0) continue;  // nearly all, where a whole cluster failed at once
    for (int hit = 1; hit <= std::min(size, nodes); ++hit)
      hits.shares[static_cast<std::size_t>(hit) - 1] += share * share_hit(fleet, nodes, size, hit);
  }
  double any = 0;
  for (const double share : hits.shares) any += share;
  for (double& share : hits.shares) share /= any;
  hits.per_s = groups_per_s * any;
  return hits;
}

double share_in_repair(const FailureRates& rates) {
  return rates.repair_s / (rates.node_mtbf_s + rates.repair_s);
}

}  // namespace dllaunch
