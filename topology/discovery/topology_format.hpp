// A topology as text: JSON (contract.md `topo --json`), and where one comes from when a user names
// it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "support/json.hpp"
#include "support/result.hpp"
#include "topology/node/topology.hpp"

namespace dllaunch {

/// The document of `topo --json`: packages, numa, gpus, nics, allowed_cpus as the contract fixes
/// them, plus "cores" and "allowed_numa", so that it round-trips.
Json to_json(const Topology& topology);
Result<Topology> topology_from_json(const Json& document);

/// The "gpus" of that document alone.
Json gpus_to_json(const std::vector<Gpu>& gpus);
Result<std::vector<Gpu>> gpus_from_json(const Json& document);

/// What `--topology X` means: "synthetic:..." (see synthetic.hpp), a .json file written by
/// `topo --json`, else a file of hwloc XML.
Result<Topology> load_topology(const std::string& spec);

/// The node as a tree with a GPU/NIC/NUMA table, for people; lines stay within `columns`.
std::string render_topology(const Topology& topology, int columns, bool color);

}  // namespace dllaunch
