// What is kept of a node book that has grown: what still counts, the rest summed. Pure.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "launcher/nodes/sighting.hpp"

namespace dllaunch {

/// Drops what judge_nodes() has forgotten, and will for months not believe, sums the uses and the
/// lateness of a node by day, keeps the newest of the other observations of each node and kind,
/// and, if the lines are still longer than `most_bytes`, drops the oldest, uses first. In order of
/// time. `now` is the clock of one machine, which may be wrong: it does not make most of the
/// observations old.
std::vector<NodeSighting> compact_sightings(std::vector<NodeSighting> all, double now,
                                            std::size_t most_bytes);

/// The last of the lines that together are no longer than `most_bytes`, in their order.
std::string newest_within(const std::vector<std::string>& lines, std::size_t most_bytes);

}  // namespace dllaunch
