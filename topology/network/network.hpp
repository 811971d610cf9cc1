// The network between nodes as a value: which switch, block, group or NVLink domain holds a node.
// Knows neither Slurm nor files: launcher/network reads those.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace dllaunch {

/// What nodes or smaller units hang on: a switch, a block, a dragonfly group, an NVLink domain.
struct NetworkUnit {
  std::string name = {};
  int parent = -1;  // index in Network::units; -1: none
  int level = 0;    // 0: nodes hang on it; below its parent's

  bool operator==(const NetworkUnit&) const = default;
};

/// Units form trees; a node hangs on one unit, its leaf.
struct Network {
  /// "tree", "block", "ring", "torus", "dragonfly" or "fabric" (InfiniBand); empty: no network.
  std::string kind = {};
  std::string source = {};               // for people: "topology.conf", "Slurm 24.11's topology"
  std::vector<std::string> levels = {};  // plural names for people, "leaf switches" first
  std::vector<NetworkUnit> units = {};
  std::map<std::string, int, std::less<>> leaf_of = {};  // node -> index of its leaf
  /// Ring, torus: node -> its place on a walk round the network that goes from neighbour to
  /// neighbour and leaves each unit once. Empty: the nodes of a leaf are equally near.
  std::map<std::string, int, std::less<>> walk = {};
  int block_size = 0;  // block: nodes of the blocks that Slurm plans with; 0: not said
  std::vector<std::string> warnings = {};  // what the description has that cannot be true

  bool operator==(const Network&) const = default;
};

constexpr int max_network_levels = 32;

/// Nodes of a leaf.
struct LeafWidths {
  int narrowest = 0;  // 0: there are none
  int widest = 0;
};
LeafWidths leaf_widths(const Network& network);

/// The widest segment that fits every block: the block size that Slurm plans with, else the nodes
/// of the narrowest block. 0: no blocks.
int segment_limit(const Network& network);

/// The largest divisor of `nodes` that is at most `limit`; 1 if no other is.
int widest_segment(int nodes, int limit);

/// Whether indices, levels and places are in range and parents are above their children, so that
/// nothing loops.
bool is_sound(const Network& network);

/// For each level, for each unit: the highest unit above it (or itself) whose level is at most
/// that. Needs a sound network.
std::vector<std::vector<int>> units_by_level(const Network& network);

}  // namespace dllaunch
