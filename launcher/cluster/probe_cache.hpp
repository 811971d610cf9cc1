// Results of `dllaunch probe`, kept between runs: a record per node type, a folder per cluster.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "launcher/cluster/facts.hpp"
#include "launcher/os/system.hpp"

namespace dllaunch {

/// $XDG_CACHE_HOME/dllaunch/clusters, else $HOME/.cache/dllaunch/clusters; nullopt if neither is
/// set.
std::optional<std::string> probe_cache_folder(System& system);

struct ProbeCache {
  std::vector<ProbedNode> nodes = {};        // newest first
  std::vector<std::string> complaints = {};  // unusable files, and why
};

/// All records of a cluster; without a name, of all clusters. A missing folder is an empty cache.
ProbeCache read_probe_cache(System& system, const std::optional<std::string>& cluster);

/// The files of a record: NAME.json, and NAME.xml with hwloc's export.
struct ProbeFiles {
  std::string json;
  std::string xml;
};

/// Replaces the record of the same node type atomically. unavailable: the folder is not writable.
Result<ProbeFiles> write_probe(System& system, const ProbedNode& node, const std::string& xml);

/// The paths of a node's record, whether or not it exists.
ProbeFiles probe_files(const std::string& folder, const ProbedNode& node);

}  // namespace dllaunch
