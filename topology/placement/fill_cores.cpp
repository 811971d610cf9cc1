#include "topology/placement/fill_cores.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <queue>
#include <utility>

#include "support/position.hpp"

namespace dllaunch {
namespace {

int most_cores(const PlacementRequest& request) {
  if (request.mode == BindMode::core) return 1;
  return request.cores_per_rank > 0 ? request.cores_per_rank : std::numeric_limits<int>::max();
}

int cores_in(const UsableNode& node, const IdSet& cpus) {
  return static_cast<int>(
      std::count_if(node.cores.begin(), node.cores.end(),
                    [&](const ShareUnit& core) { return core.cpus.intersects(cpus); }));
}

/// Returns how many of `free` cores each seat gets, growing the smallest totals first.
std::vector<int> counts_of(const UsableNode& node, const std::vector<IdSet>& near, int free,
                           int most) {
  using Seated = std::pair<int, int>;  // cores, seat
  std::priority_queue<Seated, std::vector<Seated>, std::greater<>> poorest;
  for (int s = 0; s < std::ssize(near); ++s)
    if (const int cores = cores_in(node, near[at(s)]); cores < most) poorest.emplace(cores, s);
  std::vector<int> counts(near.size(), 0);
  for (; free > 0 && !poorest.empty(); --free) {
    const auto [cores, seat] = poorest.top();
    poorest.pop();
    ++counts[at(seat)];
    if (cores + 1 < most) poorest.emplace(cores + 1, seat);
  }
  return counts;
}

/// Returns the usable CPUs around a seat, from near to far; each set contains the one before.
std::array<IdSet, 4> rings_of(const UsableNode& node, const Seat& seat) {
  std::array<IdSet, 4> rings;
  rings[0] = rings[1] = rings[2] = seat.domain;
  for (const auto& numa : node.topology.numa)
    if (numa.cpus.intersects(seat.domain)) rings[1] |= numa.cpus & node.cpus;
  IdSet packages;
  for (const auto& core : node.topology.cores)
    if (core.package >= 0 && core.package <= IdSet::max_id && core.cpus.intersects(rings[1]))
      packages.insert(core.package);
  for (const auto& core : node.topology.cores)
    if (core.package >= 0 && packages.contains(core.package)) rings[2] |= core.cpus & node.cpus;
  rings[2] |= rings[1];
  rings[3] = node.cpus;
  return rings;
}

/// Seats that look for cores in the same ring.
struct Seekers {
  IdSet ring;
  std::vector<int> seats;
};

std::vector<Seekers> seekers_in(std::size_t ring, const std::vector<std::array<IdSet, 4>>& rings,
                                const std::vector<int>& wanted) {
  std::vector<Seekers> all;
  for (int s = 0; s < std::ssize(wanted); ++s) {
    if (wanted[at(s)] == 0) continue;
    const auto& own = rings[at(s)][ring];
    const auto same = std::ranges::find(all, own, &Seekers::ring);
    if (same == all.end())
      all.push_back({own, {s}});
    else
      same->seats.push_back(s);
  }
  return all;
}

}  // namespace

bool reaches_far(const PlacementRequest& request) {
  return request.cores == BindCores::fill ||
         (request.cores == BindCores::automatic && request.cores_per_rank > 0);
}

void leave_one_for_each(const UsableNode& node, std::vector<IdSet>& near) {
  for (;;) {
    std::vector<int> counts;
    counts.reserve(near.size());
    for (const auto& cpus : near) counts.push_back(cores_in(node, cpus));
    auto missing = std::ranges::count(counts, 0);
    // A core with threads of several seats counts only if all of them can spare it.
    const ShareUnit* dearest = nullptr;
    int most = 1;
    for (const auto& core : node.cores) {
      int least = std::numeric_limits<int>::max();
      for (std::size_t s = 0; s < near.size(); ++s)
        if (near[s].intersects(core.cpus)) least = std::min(least, counts[s]);
      if (least == std::numeric_limits<int>::max()) {
        --missing;
      } else if (least >= most) {
        most = least;
        dearest = &core;
      }
    }
    if (missing <= 0 || dearest == nullptr || most < 2) return;
    for (auto& cpus : near) cpus -= dearest->cpus;
  }
}

std::vector<IdSet> fill_cores(const UsableNode& node, const std::vector<Seat>& seats,
                              const std::vector<IdSet>& near, const PlacementRequest& request) {
  IdSet taken;
  for (const auto& cpus : near) taken |= cpus;
  std::vector<const ShareUnit*> free;
  for (const auto& core : node.cores)
    if (!core.cpus.intersects(taken)) free.push_back(&core);
  std::vector<IdSet> given(seats.size());
  if (free.empty()) return given;

  auto wanted = counts_of(node, near, static_cast<int>(free.size()), most_cores(request));
  std::vector<std::array<IdSet, 4>> rings;
  rings.reserve(seats.size());
  for (const auto& seat : seats) rings.push_back(rings_of(node, seat));

  const auto take = [&](const ShareUnit& core, int seat) {
    if (request.smt)
      given[at(seat)] |= core.cpus;
    else
      given[at(seat)].insert(core.cpus.first());
    --wanted[at(seat)];
  };
  for (std::size_t ring = 0; ring < 4; ++ring)
    for (auto& seekers : seekers_in(ring, rings, wanted)) {
      // Each seat gets adjacent cores; if this ring has too few left, an equal part of them.
      const auto inside = std::stable_partition(
          free.begin(), free.end(),
          [&](const ShareUnit* core) { return !core->cpus.intersects(seekers.ring); });
      std::vector<const ShareUnit*> here(inside, free.end());
      free.erase(inside, free.end());
      auto next = here.begin();
      while (next != here.end() && !seekers.seats.empty()) {
        const auto left = static_cast<std::size_t>(here.end() - next);
        const auto part = std::max<std::size_t>(1, left / seekers.seats.size());
        for (const int seat : seekers.seats)
          for (auto n = part; n > 0 && wanted[at(seat)] > 0 && next != here.end(); --n)
            take(**next++, seat);
        std::erase_if(seekers.seats, [&](int seat) { return wanted[at(seat)] == 0; });
      }
      free.insert(free.end(), next, here.end());
      std::sort(free.begin(), free.end());  // positions in one array: the node's order
    }
  return given;
}

}  // namespace dllaunch
