#include "launcher/queue/free_nodes.hpp"

#include <algorithm>
#include <iterator>
#include <limits>
#include <set>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>

namespace dllaunch {
namespace {

constexpr double never = std::numeric_limits<double>::infinity();
/// A job that is past its limit ends soon.
constexpr double overdue_s = 60;
/// Of waiting jobs: those behind them start too late to matter.
constexpr int most_waiting = 2000;

using Hosts = std::unordered_set<std::string>;

/// Partitions with a node among the hosts.
std::set<std::string_view> partitions_on(const SlurmFacts& slurm, const Hosts& hosts) {
  std::set<std::string_view> names;
  for (const auto& partition : slurm.partitions)
    for (const auto& type : partition.node_types)
      if (std::ranges::any_of(type.hosts,
                              [&hosts](const auto& one) { return hosts.contains(one); }))
        names.insert(partition.name);
  return names;
}

/// What runs and what is reserved: a host counts once, also where a reservation has jobs.
void take_bound(const QueueView& queue, const SlurmFacts& slurm, const Hosts& hosts, double now_s,
                FreeNodes& free) {
  std::unordered_map<std::string, std::vector<std::pair<double, double>>> taken;
  for (const auto& row : queue.rows) {
    if (row.waits) continue;
    const double end_s = row.limit_s ? row.start_s.value_or(now_s) + *row.limit_s : never;
    for (const auto& host : row.hosts) {
      if (hosts.contains(host)) taken[host].emplace_back(now_s, std::max(end_s, now_s + overdue_s));
    }
  }
  // Of jobs that Slurm does not show.
  for (const auto& host : queue.busy)
    if (hosts.contains(host) && !taken.contains(host)) taken[host].emplace_back(now_s, never);
  for (const auto& one : slurm.reservations.value_or(std::vector<Reservation>()))
    for (const auto& host : one.hosts)
      if (hosts.contains(host))
        taken[host].emplace_back(static_cast<double>(one.start),
                                 one.end > 0 ? static_cast<double>(one.end) : never);
  for (auto& [host, times] : taken) {
    std::ranges::sort(times);
    double until_s = now_s;
    for (const auto& [from_s, to_s] : times) {
      free.take(std::max(from_s, until_s), to_s, 1);
      until_s = std::max(until_s, to_s);
    }
  }
}

void take_waiting(const QueueView& queue, const std::set<std::string_view>& partitions,
                  double now_s, FreeNodes& free) {
  std::vector<const QueueRow*> unplanned;
  int count = 0;
  for (const auto& row : queue.rows) {
    const bool here = std::ranges::any_of(
        row.partitions, [&](const std::string& name) { return partitions.contains(name); });
    if (!row.waits || !here) continue;
    if (!row.start_s || *row.start_s <= now_s || row.tasks > 1) {
      unplanned.push_back(&row);
      continue;
    }
    if (++count > most_waiting) break;
    free.take(*row.start_s, *row.start_s + row.limit_s.value_or(never),
              std::min(row.nodes, free.nodes()));
  }
  for (const QueueRow* row : unplanned) {
    const double length_s = row->limit_s.value_or(never);
    for (int task = 0; task < row->tasks && count < most_waiting; ++task, ++count) {
      const int nodes = std::min(row->nodes, free.nodes());
      const double start_s = free.earliest(nodes, length_s, now_s);
      if (start_s == never) break;
      free.take(start_s, start_s + length_s, nodes);
    }
  }
}

}  // namespace

std::map<double, int>::iterator FreeNodes::split_at(double time_s) {
  const auto after = level_.upper_bound(time_s);
  const auto before = std::prev(after);
  if (before->first == time_s) return before;
  return level_.emplace_hint(after, time_s, before->second);
}

void FreeNodes::take(double from_s, double to_s, int nodes) {
  from_s = std::max(from_s, now_s_);
  if (to_s <= from_s || from_s == never) return;
  const auto begin = split_at(from_s);
  const auto end = to_s == never ? level_.end() : split_at(to_s);
  for (auto one = begin; one != end; ++one) one->second -= nodes;
}

double FreeNodes::earliest(int nodes, double seconds, double from_s) const {
  double start_s = std::max(from_s, now_s_);
  if (start_s == never) return never;
  for (auto one = std::prev(level_.upper_bound(start_s)); one != level_.end(); ++one) {
    if (one->first >= start_s + seconds) break;
    if (one->second >= nodes) continue;
    const auto next = std::next(one);
    if (next == level_.end()) return never;
    start_s = next->first;
  }
  return start_s;
}

NodeForecast forecast_nodes(const QueueView& queue, const SlurmFacts& slurm,
                            const std::vector<std::string>& hosts, const std::string& partition,
                            double now_s) {
  Hosts pool(hosts.begin(), hosts.end());
  for (const auto& outage : slurm.outages)
    for (const auto& host : outage.hosts) pool.erase(host);
  FreeNodes running(now_s, static_cast<int>(pool.size()));
  take_bound(queue, slurm, pool, now_s, running);
  NodeForecast forecast{.free = running, .running = running};
  take_waiting(queue, partitions_on(slurm, pool), now_s, forecast.free);
  for (const auto& row : queue.rows)
    if (row.waits && std::ranges::find(row.partitions, partition) != row.partitions.end())
      forecast.waiting_s += row.nodes * row.limit_s.value_or(0) / std::max(1, running.nodes());
  return forecast;
}

}  // namespace dllaunch
