// What `dllaunch probe` found or kept, for people and for programs. Pure.
#pragma once

#include <string>
#include <vector>

#include "launcher/probe/probe.hpp"
#include "support/json.hpp"

namespace dllaunch {

/// The nodes that were looked at, and those that were not, and why.
std::string render_probes(const ProbeOutcome& outcome);
/// A table of what is kept, newest first; `now` in Unix seconds.
std::string render_probe_list(const std::vector<ProbedNode>& nodes, std::int64_t now);

/// {"probed": [...], "missed": [{"partitions", "hosts", "why"}]}
Json probes_json(const ProbeOutcome& outcome);
/// {"probed": [...], "damaged": [...]}; `folder` is the cache's.
Json probe_list_json(const ProbeCache& cache, const std::string& folder, std::int64_t now);

}  // namespace dllaunch
