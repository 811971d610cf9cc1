// Discovery: finds out what this node or a recorded one has, as a Topology.
// Does not decide where ranks go, and reads no utilization or temperatures (runtime/gpu/sensors).
//
// Topologies as JSON (`topo --json`), and loaded from what the user named.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "support/json.hpp"
#include "support/result.hpp"
#include "topology/node/topology.hpp"

namespace dllaunch {

/// Returns the document of `topo --json`, which holds the whole topology.
Json to_json(const Topology& topology);
/// Returns the topology in a document. Without "cores", each CPU is one; without what is allowed,
/// everything is.
Result<Topology> topology_from_json(const Json& document);
/// The same for fields of this type (support/json_fields.hpp).
std::string read_json(const Json& document, Topology& topology);

/// Resolves `--topology X`: "synthetic:..." (see synthetic.hpp), a .json file written by `topo
/// --json`, else a file of hwloc XML.
Result<Topology> load_topology(const std::string& spec);

}  // namespace dllaunch
