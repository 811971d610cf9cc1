#include "topology/placement/seats.hpp"

#include <algorithm>
#include <numeric>
#include <tuple>
#include <utility>

#include <fmt/core.h>

#include "support/position.hpp"

namespace dllaunch {
namespace {

std::vector<ShareUnit> usable_cores(const Topology& topology, const IdSet& usable) {
  std::vector<int> numa_by_cpu(at(std::max(usable.last(), 0) + 1), -1);
  for (const auto& node : topology.numa)
    for (const int cpu : (node.cpus & usable).ids()) numa_by_cpu[at(cpu)] = node.index;

  struct Placed {
    int package;
    ShareUnit unit;
  };
  std::vector<Placed> placed;
  for (const auto& core : topology.cores) {
    auto cpus = core.cpus & usable;
    if (cpus.empty()) continue;
    const int numa = numa_by_cpu[at(cpus.first())];
    placed.push_back({core.package, {.cpus = std::move(cpus), .numa = numa, .l3 = core.l3}});
  }
  std::ranges::sort(placed, [](const Placed& a, const Placed& b) {
    return std::tuple(a.package, a.unit.numa, a.unit.l3, a.unit.cpus.first()) <
           std::tuple(b.package, b.unit.numa, b.unit.l3, b.unit.cpus.first());
  });
  std::vector<ShareUnit> cores;
  cores.reserve(placed.size());
  for (auto& [package, unit] : placed) {
    unit.core = static_cast<int>(cores.size());
    cores.push_back(std::move(unit));
  }
  return cores;
}

// Returns GPUs in the order in which ranks take them.
std::vector<int> gpu_order(const Topology& topology, int gpus, RankOrder order) {
  std::vector<int> positions(at(gpus));
  std::iota(positions.begin(), positions.end(), 0);
  if (order == RankOrder::gpu) return positions;
  const auto place = [&](int g) {
    const auto& gpu = topology.gpus[at(g)];
    const int far = IdSet::max_id + 1;
    return std::tuple(gpu.numa.empty() ? far : gpu.numa.first(),
                      gpu.cpus.empty() ? far : gpu.cpus.first());
  };
  std::ranges::stable_sort(positions, [&](int a, int b) { return place(a) < place(b); });
  return positions;
}

std::vector<Seat> deal_gpus(const Topology& topology, int ranks, int gpus, RankOrder order) {
  std::vector<Seat> seats(at(ranks));
  const auto positions = gpu_order(topology, gpus, order);
  for (int r = 0; r < ranks && gpus > 0; ++r) {
    auto& mine = seats[at(r)].gpus;
    if (ranks > gpus) {
      // `local_rank % gpus`, as in every framework, or blocks along the NUMA nodes.
      mine = {order == RankOrder::gpu ? positions[at(r % gpus)]
                                      : positions[at(r) * at(gpus) / at(ranks)]};
    } else {
      const auto first = at(r) * at(gpus) / at(ranks);
      const auto last = at(r + 1) * at(gpus) / at(ranks);
      for (auto i = first; i < last; ++i) mine.push_back(positions[i]);
    }
    for (const int g : mine) seats[at(r)].local |= topology.gpus[at(g)].cpus;
  }
  return seats;
}

// Widens the domain of a rank whose GPUs have no usable local CPU: to the smallest of NUMA node,
// package and machine that has one.
void widen(const UsableNode& usable, Seat& seat) {
  const auto& topology = usable.topology;
  IdSet nodes;
  IdSet packages;
  for (const int g : seat.gpus) {
    nodes |= topology.gpus[at(g)].numa;
    const int package = topology.gpus[at(g)].package;
    if (package >= 0 && package <= IdSet::max_id) packages.insert(package);
  }
  for (const auto& node : topology.numa)
    if (nodes.contains(node.index)) seat.domain |= node.cpus & usable.cpus;
  seat.widened = fmt::format("NUMA node {}", to_list(nodes));
  if (!seat.domain.empty()) return;

  for (const auto& core : topology.cores)
    if (packages.contains(core.package)) seat.domain |= core.cpus & usable.cpus;
  seat.widened = fmt::format("package {}", to_list(packages));
  if (!seat.domain.empty()) return;

  seat.domain = usable.cpus;
  seat.widened = "the whole node";
}

void find_domains(const UsableNode& usable, BindMode mode, std::vector<Seat>& seats) {
  for (auto& seat : seats) {
    if (seat.gpus.empty()) {
      seat.domain = usable.cpus;
      continue;
    }
    seat.domain = seat.local & usable.cpus;
    if (seat.domain.empty()) widen(usable, seat);
    if (mode != BindMode::numa) continue;
    const auto near = seat.domain;
    for (const auto& node : usable.topology.numa)
      if (node.cpus.intersects(near)) seat.domain |= node.cpus & usable.cpus;
  }
}

// One rank per NUMA node, no GPU: each gets its node, even if their sizes differ.
void deal_numa_nodes(const UsableNode& usable, std::vector<Seat>& seats) {
  std::vector<IdSet> nodes;
  IdSet covered;
  for (const auto& node : usable.topology.numa) {
    auto cpus = (node.cpus & usable.cpus) - covered;
    if (cpus.empty()) continue;
    covered |= cpus;
    nodes.push_back(std::move(cpus));
  }
  if (nodes.size() != seats.size() || covered != usable.cpus) return;
  for (std::size_t r = 0; r < seats.size(); ++r) seats[r].domain = nodes[r];
}

}  // namespace

UsableNode::UsableNode(const Topology& of, IdSet usable_cpus)
    : topology(of), cpus(std::move(usable_cpus)), cores(usable_cores(of, cpus)) {}

std::vector<Seat> seat_ranks(const UsableNode& node, int ranks, int gpus, RankOrder order,
                             BindMode mode) {
  auto seats = deal_gpus(node.topology, ranks, gpus, order);
  find_domains(node, mode, seats);
  if (gpus == 0) deal_numa_nodes(node, seats);
  return seats;
}

}  // namespace dllaunch
