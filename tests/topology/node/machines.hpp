// Machines to test on: our fixtures, synthetic ones, and captures if available.
#pragma once

#include <string>
#include <vector>

#include "topology/node/topology.hpp"

namespace dllaunch {

/// A synthetic machine; the text must be valid.
Topology machine(std::string_view synthetic);

/// tests/fixtures/topology/NAME, read as by `--topology`.
Topology fixture(const std::string& name);

/// Every file of tests/fixtures/topology, sorted.
std::vector<std::string> fixture_names();

/// Captured XML files next to the repository, sorted; empty if there are none. They belong to
/// others and are not distributed: tests that need them skip visibly without.
std::vector<std::string> captured_files();
std::string captured(const std::string& id);

}  // namespace dllaunch
