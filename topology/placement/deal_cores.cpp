#include "topology/placement/deal_cores.hpp"

#include <algorithm>
#include <iterator>
#include <map>
#include <numeric>
#include <utility>

#include <fmt/core.h>

#include "support/position.hpp"
#include "topology/placement/fill_cores.hpp"

namespace dllaunch {
namespace {

// Ranks with the same domain.
struct Group {
  IdSet domain;
  std::vector<int> ranks;
};

std::vector<Group> group_by_domain(const std::vector<Seat>& seats) {
  std::vector<Group> groups;
  for (int r = 0; r < std::ssize(seats); ++r) {
    const auto& domain = seats[at(r)].domain;
    const auto found = std::ranges::find(groups, domain, &Group::domain);
    if (found == groups.end())
      groups.push_back({domain, {r}});
    else
      found->ranks.push_back(r);
  }
  // In a domain wider than each GPU's local CPUs, each rank gets the end next to its own.
  std::vector<int> first_local(seats.size(), -1);
  for (std::size_t r = 0; r < seats.size(); ++r)
    if (!seats[r].gpus.empty()) first_local[r] = (seats[r].local & seats[r].domain).first();
  for (auto& group : groups)
    std::ranges::stable_sort(group.ranks,
                             [&](int a, int b) { return first_local[at(a)] < first_local[at(b)]; });
  return groups;
}

// Groups whose domains overlap, directly or through others, must be divided together.
std::vector<std::vector<Group>> connected(std::vector<Group> groups) {
  std::vector<std::vector<Group>> components;
  std::vector<IdSet> reach;
  for (auto& group : groups) {
    std::vector<Group> joined;
    IdSet cpus = group.domain;
    for (std::size_t c = components.size(); c-- > 0;) {
      if (!reach[c].intersects(cpus)) continue;
      cpus |= reach[c];
      joined.insert(joined.begin(), std::make_move_iterator(components[c].begin()),
                    std::make_move_iterator(components[c].end()));
      components.erase(components.begin() + static_cast<std::ptrdiff_t>(c));
      reach.erase(reach.begin() + static_cast<std::ptrdiff_t>(c));
    }
    joined.push_back(std::move(group));
    components.push_back(std::move(joined));
    reach.push_back(std::move(cpus));
  }
  return components;
}

// Returns the cores of a component. Where a group may use only some threads of a core, the threads
// that the same groups may use form their own unit.
std::vector<ShareUnit> cores_of(const UsableNode& node, const std::vector<Group>& groups) {
  std::vector<ShareUnit> units;
  for (const auto& core : node.cores) {
    std::vector<IdSet> pieces;
    for (const auto& group : groups) {
      auto reached = core.cpus & group.domain;
      for (std::size_t p = 0; p < pieces.size() && !reached.empty(); ++p) {
        const auto common = pieces[p] & reached;
        if (common.empty()) continue;
        reached -= common;
        if (common == pieces[p]) continue;
        pieces.push_back(pieces[p] - common);
        pieces[p] = common;
      }
      if (!reached.empty()) pieces.push_back(std::move(reached));
    }
    for (auto& piece : pieces)
      units.push_back(
          {.core = core.core, .cpus = std::move(piece), .numa = core.numa, .l3 = core.l3});
  }
  return units;
}

std::vector<ShareUnit> threads_of(const std::vector<ShareUnit>& cores) {
  std::vector<ShareUnit> threads;
  for (const auto& core : cores)
    for (const int cpu : core.cpus.ids())
      threads.push_back({.core = core.core, .cpus = {cpu}, .numa = core.numa, .l3 = core.l3});
  return threads;
}

std::vector<ShareClaim> claims_on(const std::vector<ShareUnit>& units,
                                  const std::vector<Group>& groups) {
  std::vector<ShareClaim> claims;
  for (const auto& group : groups) {
    ShareClaim claim{.units = {}, .ranks = static_cast<int>(group.ranks.size())};
    for (int u = 0; u < std::ssize(units); ++u)
      if (group.domain.contains(units[at(u)].cpus)) claim.units.push_back(u);
    claims.push_back(std::move(claim));
  }
  return claims;
}

// Joins the threads of a share back into cores.
std::vector<ShareUnit> joined_cores(const std::vector<ShareUnit>& units,
                                    const std::vector<int>& share) {
  std::vector<ShareUnit> cores;
  for (const int u : share) {
    const auto& unit = units[at(u)];
    if (cores.empty() || cores.back().core != unit.core)
      cores.push_back(unit);
    else
      cores.back().cpus |= unit.cpus;
  }
  return cores;
}

// Selects what a rank takes of its share: how many cores, which ones, and which threads of them.
IdSet chosen_cpus(const std::vector<ShareUnit>& share, const PlacementRequest& request) {
  std::vector<int> all(share.size());
  std::iota(all.begin(), all.end(), 0);
  int count = static_cast<int>(share.size());
  if (request.cores_per_rank > 0) count = std::min(count, request.cores_per_rank);
  if (request.mode == BindMode::core) count = 1;
  const auto chosen = request.policy == BindPolicy::spread ? spread_units(all, count)
                                                           : closest_units(share, all, count);
  IdSet cpus;
  for (const int i : chosen) {
    if (request.smt)
      cpus |= share[at(i)].cpus;
    else
      cpus.insert(share[at(i)].cpus.first());
  }
  return cpus;
}

IdSet set_of(const std::vector<int>& ids) {
  IdSet set;
  for (const int id : ids) set.insert(id);
  return set;
}

std::string ranks_text(const IdSet& ranks) {
  return fmt::format("rank{} {}", ranks.size() == 1 ? "" : "s", to_list(ranks));
}

std::vector<int> ranks_of(const std::vector<Group>& groups) {
  std::vector<int> ranks;
  for (const auto& group : groups)
    ranks.insert(ranks.end(), group.ranks.begin(), group.ranks.end());
  return ranks;
}

void deal_units(const std::vector<ShareUnit>& units, const std::vector<Group>& groups,
                const PlacementRequest& request, DealtCores& dealt) {
  const auto borders = request.mode == BindMode::numa ? Borders::numa : Borders::numa_and_l3;
  const auto shares = divide_units(units, claims_on(units, groups), borders);
  for (std::size_t g = 0; g < groups.size(); ++g)
    for (std::size_t i = 0; i < groups[g].ranks.size(); ++i)
      dealt.cpus[at(groups[g].ranks[i])] = chosen_cpus(joined_cores(units, shares[g][i]), request);
}

// More ranks than cores: ranks get threads, and share these if there are too few as well.
void deal_threads(const std::vector<ShareUnit>& cores, const std::vector<Group>& groups,
                  const PlacementRequest& request, DealtCores& dealt) {
  const auto threads = threads_of(cores);
  deal_units(threads, groups, request, dealt);
  const auto ranks = ranks_of(groups);
  if (!crowded_claims(claims_on(threads, groups)).empty())
    dealt.warnings.push_back(describe_sharing(dealt.cpus, ranks) +
                             ": fewer usable CPUs are local to them");
}

// More ranks than near cores, but ranks may reach farther: the first ranks get one near core each,
// the others far ones.
void deal_single_cores(const std::vector<ShareUnit>& cores, const std::vector<Group>& groups,
                       const PlacementRequest& request, DealtCores& dealt) {
  const auto claims = claims_on(cores, groups);
  IdSet taken;
  for (std::size_t g = 0; g < groups.size(); ++g)
    for (const int rank : groups[g].ranks) {
      const auto free = std::ranges::find_if(
          claims[g].units, [&](int unit) { return !taken.contains(cores[at(unit)].core); });
      if (free == claims[g].units.end()) break;
      taken.insert(cores[at(*free)].core);
      dealt.cpus[at(rank)] = chosen_cpus({cores[at(*free)]}, request);
    }
}

void deal_groups(const UsableNode& node, std::vector<Group> groups, const PlacementRequest& request,
                 DealtCores& dealt) {
  for (auto& component : connected(std::move(groups))) {
    const auto cores = cores_of(node, component);
    const auto crowded = crowded_claims(claims_on(cores, component));
    if (crowded.empty()) {
      deal_units(cores, component, request, dealt);
      continue;
    }
    // Groups that need none of the crowded cores leave them to those that do.
    std::vector<Group> crowd;
    std::vector<Group> others;
    for (int g = 0; g < std::ssize(component); ++g) {
      const bool inside = std::ranges::binary_search(crowded, g);
      (inside ? crowd : others).push_back(std::move(component[at(g)]));
    }
    for (auto& other : others)
      for (const auto& group : crowd) other.domain -= group.domain;
    if (reaches_far(request) && std::ssize(dealt.cpus) <= std::ssize(node.cores))
      deal_single_cores(cores_of(node, crowd), crowd, request, dealt);
    else
      deal_threads(cores_of(node, crowd), crowd, request, dealt);
    deal_groups(node, std::move(others), request, dealt);
  }
}

void describe_domains(const UsableNode& node, const std::vector<Group>& groups, DealtCores& dealt) {
  for (const auto& group : groups) {
    const auto cores = std::ranges::count_if(
        node.cores, [&](const ShareUnit& core) { return core.cpus.intersects(group.domain); });
    for (const int r : group.ranks) {
      dealt.cores_in_domain[at(r)] = static_cast<int>(cores);
      dealt.ranks_in_domain[at(r)] = static_cast<int>(group.ranks.size());
    }
  }
}

// All ranks in one group that may use every core: some must share, whatever is near.
Group whole_node(const UsableNode& node, const std::vector<Group>& groups) {
  return {node.cpus, ranks_of(groups)};
}

void warn_of_split_cores(const UsableNode& node, DealtCores& dealt) {
  std::map<int, int> core_by_cpu;
  for (const auto& core : node.cores)
    for (const int cpu : core.cpus.ids()) core_by_cpu[cpu] = core.core;
  // Ranks that share a CPU are worse and reported elsewhere: one stands for all of them here.
  std::map<int, std::map<int, int>> rank_by_core_and_cpu;
  for (int r = 0; r < std::ssize(dealt.cpus); ++r)
    for (const int cpu : dealt.cpus[at(r)].ids())
      rank_by_core_and_cpu[core_by_cpu[cpu]].try_emplace(cpu, r);
  IdSet ranks;
  for (const auto& [core, rank_by_cpu] : rank_by_core_and_cpu) {
    const int first = rank_by_cpu.begin()->second;
    for (const auto& [cpu, rank] : rank_by_cpu) {
      if (rank == first) continue;
      ranks.insert(first);
      ranks.insert(rank);
    }
  }
  if (ranks.empty()) return;
  dealt.warnings.push_back(fmt::format(
      "{} are on hardware threads of the same cores: fewer whole cores are local to them",
      ranks_text(ranks)));
}

void warn_of_short_shares(const UsableNode& node, int asked, DealtCores& dealt) {
  IdSet ranks;
  for (int r = 0; r < std::ssize(dealt.cpus); ++r) {
    int cores = 0;
    for (const auto& core : node.cores)
      if (core.cpus.intersects(dealt.cpus[at(r)])) ++cores;
    if (cores < asked) ranks.insert(r);
  }
  if (ranks.empty()) return;
  dealt.warnings.push_back(
      fmt::format("{} get fewer than the {} cores asked for: no more are local to their GPUs",
                  ranks_text(ranks), asked));
}

}  // namespace

std::string describe_sharing(const std::vector<IdSet>& cpus, const std::vector<int>& ranks) {
  std::map<int, std::vector<int>> ranks_by_cpu;
  for (const int r : ranks)
    for (const int cpu : cpus[at(r)].ids()) ranks_by_cpu[cpu].push_back(r);
  IdSet shared;
  IdSet sharing;
  for (const auto& [cpu, who] : ranks_by_cpu) {
    if (who.size() < 2) continue;
    shared.insert(cpu);
    sharing |= set_of(who);
  }
  if (shared.empty()) return "";
  return fmt::format("{} share CPU{} {}", ranks_text(sharing), shared.size() == 1 ? "" : "s",
                     to_list(shared));
}

DealtCores deal_cores(const UsableNode& node, const std::vector<Seat>& seats,
                      const PlacementRequest& request) {
  DealtCores dealt{.cpus = std::vector<IdSet>(seats.size()),
                   .far = std::vector<IdSet>(seats.size()),
                   .cores_in_domain = std::vector<int>(seats.size(), 0),
                   .ranks_in_domain = std::vector<int>(seats.size(), 0),
                   .warnings = {}};
  auto groups = group_by_domain(seats);
  describe_domains(node, groups, dealt);
  if (reaches_far(request) && seats.size() > node.cores.size()) groups = {whole_node(node, groups)};
  deal_groups(node, std::move(groups), request, dealt);
  if (reaches_far(request)) {
    if (seats.size() <= node.cores.size()) leave_one_for_each(node, dealt.cpus);
    const auto more = fill_cores(node, seats, dealt.cpus, request);
    for (std::size_t r = 0; r < seats.size(); ++r) {
      dealt.cpus[r] |= more[r];
      dealt.far[r] = more[r] - seats[r].domain;
    }
  }
  warn_of_split_cores(node, dealt);
  if (request.cores_per_rank > 0 && request.mode != BindMode::core)
    warn_of_short_shares(node, request.cores_per_rank, dealt);
  return dealt;
}

}  // namespace dllaunch
