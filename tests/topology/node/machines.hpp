// Machines to test on: our own fixtures, synthetic ones, and captures where they are at hand.
#pragma once

#include <string>
#include <vector>

#include "topology/node/topology.hpp"

namespace dllaunch {

/// A synthetic machine that is known to be well written.
Topology machine(std::string_view synthetic);

/// tests/fixtures/topology/NAME, read as `--topology` would.
Topology fixture(const std::string& name);

/// Every file of tests/fixtures/topology, sorted.
std::vector<std::string> fixture_names();

/// Captured XML files that lie beside the repository, sorted; empty where there are none. They are
/// other people's files: a test that needs them skips aloud without.
std::vector<std::string> captured_files();
std::string captured(const std::string& id);

}  // namespace dllaunch
