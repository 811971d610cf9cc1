// The leaves of the network below which a job's nodes hang, as the launcher tells the ranks.
#pragma once

#include <string>
#include <vector>

#include "runtime/rank/rank_env.hpp"

namespace dllaunch {

/// The number of nodes of each leaf, "4,4,3", in the order of the ranks' nodes.
inline constexpr const char* node_leaves_variable = "DLLAUNCH_NODE_LEAVES";

/// Returns what the variable says, which is equal on all ranks; empty if it is unset, damaged, not
/// of `nodes` nodes, or of one leaf: then leaves do not matter.
std::vector<int> node_leaves(const EnvLookup& lookup, int nodes);

/// The variable's value.
std::string to_text(const std::vector<int>& leaves);

}  // namespace dllaunch
