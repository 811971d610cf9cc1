// How a ring over a job's nodes lies in the network, in words.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "topology/network/network.hpp"

namespace dllaunch {

/// Edges of the ring of nodes that leave a unit of a level of the network.
struct LevelCrossings {
  std::string level = {};  // "leaf switches"
  int given = 0;           // in the order of Slurm
  int ordered = 0;         // in the order of the ranks
};

/// For each level, lowest first. Empty without a (sound) network.
std::vector<LevelCrossings> level_crossings(const Network& network,
                                            const std::vector<std::string>& given,
                                            const std::vector<std::string>& ordered);

/// "4 of 8 ring edges leave leaf switches (7 in Slurm's order)"; empty: none leaves any. `edges`:
/// of the ring.
std::string ring_words(const std::vector<LevelCrossings>& levels, std::size_t edges);

}  // namespace dllaunch
