// One pre-flight beside what the node book has of the same nodes, and of others of their kind.
// Pure.
#pragma once

#include <string>
#include <vector>

#include "launcher/nodes/sighting.hpp"
#include "launcher/preflight/report.hpp"

namespace dllaunch {

/// Adds to each node's checks one `history` for each figure that the book knows, of this node or of
/// others: a warning where it is much less than either's median. Figures of `cluster` only.
void compare_with_book(const std::vector<NodeSighting>& seen, const std::string& cluster,
                       double now, PreflightReport& report);

}  // namespace dllaunch
