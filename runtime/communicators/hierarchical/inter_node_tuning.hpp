// Measures which algorithm between nodes is the fastest, by size.
#pragma once

#include <cstddef>
#include <optional>
#include <span>

#include "runtime/communicators/hierarchical/inter_node.hpp"

namespace dllaunch {

/// Microseconds of an all-reduce of `bytes` with each algorithm.
struct WayTimes {
  std::size_t bytes = 0;
  double whole = 0;
  double parts = 0;
};

/// Returns the largest size up to which `whole` is never slower by more than 10 % (less is noise);
/// 0 if it is slower from the start. Sizes must be ascending.
std::size_t choose_whole_bytes(std::span<const WayTimes> times);

/// Collective over `world`. `inter_node` is nullptr on ranks without one, and has no exchange in
/// progress. nullopt if half a second did not suffice, as on a busy network.
std::optional<InterNodeLimits> measure_limits(const Peers& world, InterNode* inter_node);

/// Collective, as above: whether parts of a usual bucket arrive clearly sooner by way of the
/// network's leaves, which every rank with an inter-node group knows.
bool is_faster_by_leaf(const Peers& world, InterNode* inter_node);

}  // namespace dllaunch
