// What `dllaunch probe` found, kept between runs: one record a node type, in a folder a cluster.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "launcher/cluster/facts.hpp"
#include "launcher/os/system.hpp"

namespace dllaunch {

/// $XDG_CACHE_HOME/dllaunch/clusters, else $HOME/.cache/dllaunch/clusters; nothing without either.
std::optional<std::string> probe_cache_folder(System& system);

struct ProbeCache {
  std::vector<ProbedNode> nodes = {};        // newest first
  std::vector<std::string> complaints = {};  // files that cannot be used, and why
};

/// Every record of a cluster; of all clusters without a name. An absent folder is an empty cache.
ProbeCache read_probe_cache(System& system, const std::optional<std::string>& cluster);

/// The records beside each other: NAME.json, and NAME.xml with hwloc's own words.
struct ProbeFiles {
  std::string json;
  std::string xml;
};

/// Replaces the record of the same node type; whoever reads meanwhile sees the old or the new one.
/// unavailable: no folder to write to.
Result<ProbeFiles> write_probe(System& system, const ProbedNode& node, const std::string& xml);

/// Where the record of a node lies or would lie.
ProbeFiles probe_files(const std::string& folder, const ProbedNode& node);

}  // namespace dllaunch
