// The figures of one node's pre-flight that may be compared with others' and with earlier ones.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "launcher/preflight/node_answer.hpp"

namespace dllaunch {

struct NodeFigure {
  std::string what = {};  // "cpu GFLOP/s"; more is better
  std::string like = {};  // only nodes with the same text compare: "AMD EPYC 7763, 4 CPUs"
  double value = 0;       // of several devices the least
};

/// Not a speed, but a count since the node was booted.
inline constexpr std::string_view memory_errors_figure = "corrected memory errors";

/// Those that were measured.
std::vector<NodeFigure> figures_of(const NodeAnswer& answer);

}  // namespace dllaunch
