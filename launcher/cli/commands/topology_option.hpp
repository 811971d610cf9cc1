// The --topology option, shared by several commands: selects the node.
#pragma once

#include <string>

#include "launcher/cli/command.hpp"

namespace dllaunch {

/// Declares --topology; named_topology() understands its value.
void add_topology_option(CommandOptions& app, std::string& name);

}  // namespace dllaunch
