// The node that --topology names.
#pragma once

#include <string>

#include "launcher/verb.hpp"
#include "launcher/world.hpp"

namespace dllaunch {

/// Declares --topology.
void add_topology_option(CLI::App& app, std::string& name);

/// load_topology(name), or the node this process runs on where `name` is empty.
Result<Topology> named_topology(World& world, const std::string& name);

}  // namespace dllaunch
