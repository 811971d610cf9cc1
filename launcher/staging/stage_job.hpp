// Staging from the batch script: once per job, onto all its nodes.
#pragma once

#include <string>
#include <vector>

#include "launcher/staging/stage_node.hpp"

namespace dllaunch {

struct StageJob {
  StageRequest request = {};
  std::vector<std::string> programs = {};  // to be started from the nodes' disks
  bool broadcast = false;                  // read once and sent with sbcast
  int nodes = 1;
  std::string dllaunch = {};  // this program, which runs on the nodes
};

/// Returns when all nodes have everything. After a failure, the holder removes what was copied.
/// unavailable: with the messages of the nodes that failed.
Result<Ok> stage_on_all_nodes(System& system, StageJob job);

/// Creates a tar with bin/ (the programs and their modules, libNAME_*.so) and lib/ (shared
/// libraries that the nodes' systems lack).
Result<Ok> pack_programs(System& system, const std::vector<std::string>& programs,
                         const std::string& parcel);

/// Returns the paths a plan wants staged that do not exist.
std::vector<std::string> missing_sources(const std::vector<std::string>& sources);

}  // namespace dllaunch
