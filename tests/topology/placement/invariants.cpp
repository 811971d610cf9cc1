#include "tests/topology/placement/invariants.hpp"

#include <algorithm>
#include <map>
#include <optional>

#include <gtest/gtest.h>

#include "topology/render/masks.hpp"

namespace dllaunch {
namespace {

std::size_t at(int i) {
  return static_cast<std::size_t>(i);
}

// The usable CPUs, derived from the promises alone.
IdSet usable_cpus(const Topology& topology, const PlacementRequest& request) {
  IdSet usable = topology.allowed_cpus & topology.cpus();
  IdSet reserved;
  if (request.reserve == "first-core-per-l3") {
    for (const auto& core : topology.cores)
      if (core.opens_l3) reserved |= core.cpus;
  } else if (request.reserve != "auto" && request.reserve != "none") {
    reserved = *parse_id_list(request.reserve);
    for (const auto& core : topology.cores)
      if (reserved.contains(core.cpus.first())) reserved |= core.cpus;
  }
  return usable - reserved;
}

// The core of each CPU.
std::vector<int> core_numbers(const Topology& topology) {
  std::vector<int> core_by_cpu(at(topology.cpus().last() + 1), -1);
  for (int c = 0; c < std::ssize(topology.cores); ++c)
    for (const int cpu : topology.cores[at(c)].cpus.ids()) core_by_cpu[at(cpu)] = c;
  return core_by_cpu;
}

IdSet local_cpus(const Topology& topology, const RankPlacement& rank) {
  IdSet local;
  for (const int g : rank.gpus) local |= topology.gpus[at(g)].cpus;
  return local;
}

// What a rank may get: the CPUs local to its GPUs, else their NUMA nodes, packages, the node. In
// mode numa, the whole NUMA nodes of these.
IdSet domain_of(const Topology& topology, const PlacementRequest& request,
                const RankPlacement& rank, const IdSet& usable) {
  if (rank.gpus.empty()) return usable;
  IdSet domain = local_cpus(topology, rank) & usable;
  if (domain.empty()) {
    for (const int g : rank.gpus)
      for (const auto& node : topology.numa)
        if (topology.gpus[at(g)].numa.contains(node.index)) domain |= node.cpus & usable;
  }
  if (domain.empty()) {
    for (const int g : rank.gpus)
      for (const auto& core : topology.cores)
        if (core.package >= 0 && core.package == topology.gpus[at(g)].package)
          domain |= core.cpus & usable;
  }
  if (domain.empty()) return usable;
  if (request.mode != BindMode::numa) return domain;
  IdSet nodes = domain;
  for (const auto& node : topology.numa)
    if (node.cpus.intersects(domain)) nodes |= node.cpus & usable;
  return nodes;
}

void expect_gpus_dealt(const Topology& topology, const PlacementRequest& request,
                       const Placement& placement) {
  const int gpus = request.gpus < 0 ? static_cast<int>(topology.gpus.size()) : request.gpus;
  const int ranks = static_cast<int>(placement.ranks.size());
  std::vector<int> users(at(gpus), 0);
  for (const auto& rank : placement.ranks) {
    EXPECT_EQ(rank.gpus.empty(), gpus == 0);
    for (const int g : rank.gpus) {
      ASSERT_LT(g, gpus);
      ++users[at(g)];
    }
    if (request.order == RankOrder::gpu && ranks >= gpus && gpus > 0) {
      EXPECT_EQ(rank.gpus, std::vector<int>{rank.local_rank % gpus});
    }
  }
  for (const int count : users) {
    EXPECT_GE(count, 1) << "a GPU without a rank";
    EXPECT_LE(count, std::max(1, (ranks + gpus - 1) / std::max(1, gpus)));
  }
}

// Whether ranks get far cores after the near ones.
bool reaches_far(const PlacementRequest& request) {
  return request.cores == BindCores::fill ||
         (request.cores == BindCores::automatic && request.cores_per_rank > 0);
}

bool says_share(const Placement& placement) {
  return std::any_of(placement.warnings.begin(), placement.warnings.end(),
                     [](const std::string& w) { return w.find("share") != std::string::npos; });
}

// Ranks that may have to share: those that compete, directly or through others, with a rank that no
// arrangement gives its own CPU (the overdetermined part of a maximum matching).
class Crowd {
 public:
  explicit Crowd(const std::vector<IdSet>& domains) : member_(domains.size()) {
    IdSet all;
    for (const auto& domain : domains) {
      domains_.push_back(domain.ids());
      all |= domain;
    }
    holder_.assign(at(all.last() + 1), no_rank);
    std::vector<int> unseated;
    for (int r = 0; r < std::ssize(domains_); ++r) {
      tried_.assign(holder_.size(), false);
      if (!seat(r)) unseated.push_back(r);
    }
    tried_.assign(holder_.size(), false);
    for (const int r : unseated) spread_from(r);
  }

  bool contains(int rank) const { return member_[at(rank)]; }

 private:
  static constexpr int no_rank = -1;

  bool seat(int rank) {
    for (const int cpu : domains_[at(rank)])
      if (holder_[at(cpu)] == no_rank) {
        holder_[at(cpu)] = rank;
        return true;
      }
    for (const int cpu : domains_[at(rank)]) {
      if (tried_[at(cpu)]) continue;
      tried_[at(cpu)] = true;
      if (seat(holder_[at(cpu)])) {
        holder_[at(cpu)] = rank;
        return true;
      }
    }
    return false;
  }

  void spread_from(int rank) {
    if (member_[at(rank)]) return;
    member_[at(rank)] = true;
    for (const int cpu : domains_[at(rank)]) {
      if (tried_[at(cpu)]) continue;
      tried_[at(cpu)] = true;
      if (holder_[at(cpu)] != no_rank) spread_from(holder_[at(cpu)]);
    }
  }

  std::vector<std::vector<int>> domains_;
  std::vector<int> holder_;
  std::vector<bool> tried_;
  std::vector<bool> member_;
};

// Far cores are assigned only when no near one is left, whole, and to the ranks with the fewest.
void expect_near_before_far(const PlacementRequest& request, const Placement& placement,
                            const std::vector<int>& core_by_cpu,
                            const std::vector<IdSet>& domains) {
  const int wanted = request.mode == BindMode::core ? 1 : request.cores_per_rank;
  IdSet taken;
  std::vector<int> counts;
  for (const auto& rank : placement.ranks) {
    IdSet cores;
    for (const int cpu : rank.cpus.ids()) cores.insert(core_by_cpu[at(cpu)]);
    taken |= cores;
    counts.push_back(cores.size());
  }
  int least = 1 << 20;  // of those that could take one more
  for (const int count : counts)
    if (wanted == 0 || count < wanted) least = std::min(least, count);
  for (int r = 0; r < std::ssize(placement.ranks); ++r) {
    const auto& rank = placement.ranks[at(r)];
    EXPECT_TRUE(rank.cpus.contains(rank.far));
    EXPECT_TRUE(wanted == 0 || counts[at(r)] <= wanted) << counts[at(r)] << " cores";
    if (rank.far.empty()) continue;
    EXPECT_LE(counts[at(r)] - 1, least) << "rank " << r << " took what a poorer one lacks";
    // One rank per NUMA node, without GPUs: near means its node, of all that it may get.
    if (rank.gpus.empty()) continue;
    EXPECT_FALSE(rank.far.intersects(domains[at(r)])) << "near CPUs are called far";
    for (const int cpu : domains[at(r)].ids())
      EXPECT_TRUE(taken.contains(core_by_cpu[at(cpu)]))
          << "rank " << r << " has far CPUs " << to_list(rank.far) << ", near CPU " << cpu
          << " is free";
  }
}

// No rank lacks a requested core, and fill leaves none idle.
void expect_cores_used(const PlacementRequest& request, const Placement& placement,
                       const std::vector<int>& core_by_cpu, const IdSet& usable) {
  IdSet cores;
  IdSet taken;
  for (const int cpu : usable.ids()) cores.insert(core_by_cpu[at(cpu)]);
  for (const auto& rank : placement.ranks) {
    IdSet own;
    for (const int cpu : rank.cpus.ids()) own.insert(core_by_cpu[at(cpu)]);
    taken |= own;
    if (reaches_far(request) && request.cores_per_rank > 0 && request.mode != BindMode::core) {
      EXPECT_EQ(own.size(), request.cores_per_rank) << "rank " << rank.local_rank;
    }
  }
  const bool all = request.cores_per_rank == 0 && request.mode != BindMode::core;
  if (request.cores == BindCores::fill && all) {
    EXPECT_EQ(to_list(taken), to_list(cores));
  }
  const bool says = request.cores == BindCores::automatic && all && taken != cores;
  EXPECT_EQ(!placement.idle.empty(), says) << placement.idle;
}

void expect_sharing_only_in_need(const Placement& placement, const std::vector<int>& core_by_cpu,
                                 const std::vector<IdSet>& domains) {
  std::map<int, int> owner;
  std::map<int, int> core_owner;
  bool shared = false;
  std::optional<Crowd> crowd;
  for (const auto& rank : placement.ranks) {
    IdSet cores;
    for (const int cpu : rank.cpus.ids()) {
      cores.insert(core_by_cpu[at(cpu)]);
      if (owner.try_emplace(cpu, rank.local_rank).second) continue;
      shared = true;
      if (!crowd) crowd.emplace(domains);
      EXPECT_TRUE(crowd->contains(rank.local_rank) && crowd->contains(owner[cpu]))
          << "ranks " << owner[cpu] << " and " << rank.local_rank << " share CPU " << cpu;
    }
    for (const int core : cores.ids()) {
      if (core_owner.try_emplace(core, rank.local_rank).second) continue;
      // Two ranks share a core only if there are fewer whole cores than ranks.
      EXPECT_FALSE(placement.warnings.empty()) << "core " << core << " is split in silence";
    }
  }
  EXPECT_EQ(shared, says_share(placement));
}

// Ranks of one locality domain with equal L3s: if they divide evenly, a rank has whole L3s or lies
// inside one. Does not apply to a domain that overlaps another.
void expect_l3_borders_kept(const Topology& topology, const Placement& placement,
                            const std::vector<IdSet>& domains) {
  std::map<std::string, std::vector<std::size_t>> users;
  for (std::size_t r = 0; r < domains.size(); ++r) users[to_list(domains[r])].push_back(r);
  for (const auto& [list, ranks] : users) {
    const auto& domain = domains[ranks.front()];
    const bool alone = std::all_of(domains.begin(), domains.end(), [&](const IdSet& other) {
      return other == domain || !other.intersects(domain);
    });
    std::map<int, int> cores_by_l3;
    for (const auto& core : topology.cores)
      if (core.cpus.intersects(domain)) ++cores_by_l3[core.l3];
    const auto l3s = cores_by_l3.size();
    const bool alike = std::all_of(cores_by_l3.begin(), cores_by_l3.end(), [&](const auto& l3) {
      return l3.first >= 0 && l3.second == cores_by_l3.begin()->second;
    });
    const auto cores = l3s * at(alike ? cores_by_l3.begin()->second : 0);
    const bool whole = l3s % ranks.size() == 0;
    const bool inside = ranks.size() % l3s == 0;
    if (!alone || !alike || ranks.size() > cores || (!whole && !inside)) continue;
    for (const auto r : ranks) {
      IdSet touched;
      for (const auto& core : topology.cores)
        if (core.cpus.intersects(placement.ranks[r].cpus - placement.ranks[r].far))
          touched.insert(core.l3);
      EXPECT_EQ(at(touched.size()), whole ? l3s / ranks.size() : 1)
          << "rank " << r << " on CPUs " << to_list(placement.ranks[r].cpus)
          << " crosses an L3 border of " << list;
    }
  }
}

}  // namespace

void expect_promises_kept(const Topology& topology, const PlacementRequest& request,
                          const Placement& placement) {
  const auto usable = usable_cpus(topology, request);
  const auto core_by_cpu = core_numbers(topology);
  std::vector<IdSet> domains;
  std::map<std::string, std::vector<int>> cores_by_domain;
  expect_gpus_dealt(topology, request, placement);
  IdSet usable_cores;
  for (const int cpu : usable.ids()) usable_cores.insert(core_by_cpu[at(cpu)]);
  // Ranks that may reach farther share only if the whole node has too few cores.
  const bool far = reaches_far(request);
  const bool whole = far && std::ssize(placement.ranks) > usable_cores.size();
  for (int r = 0; r < std::ssize(placement.ranks); ++r) {
    const auto& rank = placement.ranks[at(r)];
    EXPECT_EQ(rank.local_rank, r);
    EXPECT_FALSE(rank.cpus.empty());
    EXPECT_TRUE(usable.contains(rank.cpus)) << to_list(rank.cpus);
    EXPECT_EQ(rank.numa, topology.numa_of(rank.cpus));
    EXPECT_FALSE(rank.why.empty());
    EXPECT_EQ(rank.nic.empty(), topology.nics.empty());

    const auto local = local_cpus(topology, rank) & usable;
    if (!local.empty() && request.mode != BindMode::numa && !whole) {
      EXPECT_TRUE(local.contains(rank.cpus - rank.far))
          << "rank " << r << " has " << to_list(rank.cpus) << ", local is " << to_list(local);
    }
    domains.push_back(whole ? usable : domain_of(topology, request, rank, usable));
    EXPECT_TRUE(domains.back().contains(rank.cpus - rank.far))
        << "rank " << r << " left its domain";
    EXPECT_TRUE(far || rank.far.empty()) << to_list(rank.far);
    IdSet cores;
    for (const int cpu : rank.cpus.ids()) cores.insert(core_by_cpu[at(cpu)]);
    if (!request.smt) {
      EXPECT_EQ(cores.size(), rank.cpus.size()) << "a second thread without smt";
    }
    cores_by_domain[to_list(local)].push_back(cores.size());
  }
  if (far) expect_near_before_far(request, placement, core_by_cpu, domains);
  expect_cores_used(request, placement, core_by_cpu, usable);
  // With far cores available, ranks do not compete for near ones.
  const auto reach = far ? std::vector<IdSet>(domains.size(), usable) : domains;
  expect_sharing_only_in_need(placement, core_by_cpu, reach);
  if (request.mode != BindMode::cores || request.cores_per_rank > 0) return;
  // A core with only some threads local to a GPU does not count as a whole core.
  for (const auto& gpu : topology.gpus)
    for (const auto& core : topology.cores)
      if (gpu.cpus.intersects(core.cpus) && !gpu.cpus.contains(core.cpus)) return;
  if (request.policy != BindPolicy::none) expect_l3_borders_kept(topology, placement, domains);
  // Ranks without GPUs share the whole node, unless each has its own NUMA node.
  const bool no_gpus = topology.gpus.empty() || request.gpus == 0;
  const auto nodes = std::count_if(topology.numa.begin(), topology.numa.end(),
                                   [&](const NumaNode& n) { return n.cpus.intersects(usable); });
  const bool one_a_node = no_gpus && nodes == std::ssize(placement.ranks);
  for (const auto& [domain, cores] : cores_by_domain) {
    const auto [least, most] = std::minmax_element(cores.begin(), cores.end());
    if (!domain.empty() || (no_gpus && !one_a_node)) {
      EXPECT_LE(*most - *least, 1) << "unequal shares of " << domain;
    }
  }
}

Placement placed(const Topology& topology, const PlacementRequest& request) {
  auto placement = place_ranks(topology, request);
  if (!placement) {
    ADD_FAILURE() << placement.error().what;
    return {};
  }
  expect_promises_kept(topology, request, *placement);
  return *std::move(placement);
}

}  // namespace dllaunch
