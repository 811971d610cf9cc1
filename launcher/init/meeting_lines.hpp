// The lines of a script that only find where its ranks meet.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "launcher/lint/bash/shell_tree.hpp"

namespace dllaunch {

/// Of a script's commands, in order: assignments of MASTER_ADDR and MASTER_PORT, and of variables
/// that hold host names and that no other command reads. Each has its lines for itself. Pure.
std::vector<const lint::Node*> meeting_lines(std::string_view script,
                                             std::span<const lint::Node* const> commands);

}  // namespace dllaunch
