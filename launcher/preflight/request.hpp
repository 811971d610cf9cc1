// What a pre-flight looks at, as the caller asks for it and as each node is told.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "launcher/os/system.hpp"
#include "support/json.hpp"
#include "support/result.hpp"

namespace dllaunch {

/// A folder the job will write to, and what it needs there.
struct FolderNeed {
  std::string what = {};    // "run directory", "checkpoints"; says whose it is, once each
  std::string path = {};    // absolute; need not exist yet
  std::uint64_t bytes = 0;  // 0: not known
};

struct PreflightRequest {
  /// Empty: this machine alone, without Slurm.
  std::string job_id = {};
  /// The nodes to look at, in the job's order: all of the allocation's, or those still in use.
  std::vector<std::string> hosts = {};
  /// Besides these every node looks at its own TMPDIR and at the folder for staged files.
  std::vector<FolderNeed> folders = {};
  int ranks_per_node = 1;
  int gpus_per_node = -1;              // -1: what Slurm says on the node, else what most nodes have
  std::uint64_t memory_bytes = 0;      // a node; 0: not known
  std::string host_suffix = {};        // behind host names where ranks meet
  std::vector<std::string> skip = {};  // names of checks
  /// For all nodes' answers; later ones count as missing.
  std::chrono::seconds patience{15};
  /// Of this call; made up by preflight(). From it follow the ports that nodes meet at.
  std::string mark = {};
};

/// The variable that brings the nodes of a pre-flight their secret: on the command line, where the
/// request stands, everybody could read it.
constexpr const char* preflight_secret = "DLLAUNCH_PREFLIGHT_SECRET";

Json to_json(const PreflightRequest& request);
/// bad_request: not such a document.
Result<PreflightRequest> preflight_request_from_json(const Json& document);

/// For the allocation that the caller stands in, or for this machine. With a run's directory: its
/// folders with the need of the newest checkpoint, its ranks and GPUs by its plan.json, where these
/// can be read. bad_request: a node list that cannot be read.
Result<PreflightRequest> observe_preflight_request(System& system, const std::string& run_dir);

}  // namespace dllaunch
