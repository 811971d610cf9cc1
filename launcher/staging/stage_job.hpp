// Staging as the batch script does it: once for the whole job, onto all of its nodes.
#pragma once

#include <string>
#include <vector>

#include "launcher/staging/stage_node.hpp"

namespace dllaunch {

struct StageJob {
  StageRequest request = {};
  std::vector<std::string> programs = {};  // to be started from the nodes' own disks
  bool broadcast = false;                  // read once, sent on by sbcast
  int nodes = 1;
  std::string dllaunch = {};  // this program, for the nodes' part
};

/// Returns when every node has everything. What is there after a failure, the holder removes.
/// unavailable: in the words of the nodes that could not.
Result<Ok> stage_on_all_nodes(System& system, StageJob job);

/// A tar with bin/: the programs and the modules beside them (libNAME_*.so), and lib/: the shared
/// libraries they need that the nodes' systems do not have.
Result<Ok> pack_programs(System& system, const std::vector<std::string>& programs,
                         const std::string& parcel);

/// The paths, readable and not, that a plan wants staged and that are not there.
std::vector<std::string> missing_sources(const std::vector<std::string>& sources);

}  // namespace dllaunch
