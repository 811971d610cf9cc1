// Nodes at coordinates of a 3D torus, as units and a walk from neighbour to neighbour.
#pragma once

#include <string>
#include <vector>

#include "launcher/network/network_draft.hpp"

namespace dllaunch {

struct TorusNode {
  std::string torus = {};
  int x = 0;
  int y = 0;
  int z = 0;
  std::string name = {};
};

/// Adds each torus with its planes (of one z) and rows (of one y and z), and the walk: along a row,
/// back along the next, through each plane, and through the next plane in the other direction.
void add_toruses(std::vector<TorusNode> nodes, NetworkDraft& draft);

}  // namespace dllaunch
