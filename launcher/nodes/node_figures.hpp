// The figures that pre-flights measured of nodes, beside those of others and of earlier times.
// Pure.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "launcher/nodes/sighting.hpp"

namespace dllaunch {

using NodeKey = std::pair<std::string, std::string>;  // cluster, node

/// The figure of a node that is least beside what it should be.
struct SlowFigure {
  double share = 1;        // of what it should be; at most 1
  double time = 0;         // when it was measured, in Unix seconds
  std::string words = {};  // "cpu GFLOP/s 9.1, 0.30 of the other nodes' 30.2"
};

/// Of every node that was measured and can be compared: with at least one other node of its kind
/// (`like`), or with at least three measurements of its own before the newest two. Of these two the
/// better one counts.
std::map<NodeKey, SlowFigure> slow_figures(const std::vector<NodeSighting>& seen, double now);

}  // namespace dllaunch
