// What a pre-flight checks, as requested by the caller and sent to each node.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "launcher/os/system.hpp"
#include "support/json.hpp"
#include "support/result.hpp"

namespace dllaunch {

/// A folder the job writes to, and the space it needs.
struct FolderNeed {
  std::string what = {};    // "run directory", "checkpoints"; says whose it is, once each
  std::string path = {};    // absolute; may not exist yet
  std::uint64_t bytes = 0;  // 0: unknown
};

struct PreflightRequest {
  /// Empty: this machine only, without Slurm.
  std::string job_id = {};
  /// The nodes to check, in the job's order: the allocation's, or those still in use.
  std::vector<std::string> hosts = {};
  /// In addition to the node's TMPDIR and its folder for staged files.
  std::vector<FolderNeed> folders = {};
  int ranks_per_node = 1;
  int gpus_per_node = -1;              // -1: Slurm's number on the node, else that of most nodes
  std::uint64_t memory_bytes = 0;      // per node; 0: unknown
  std::string host_suffix = {};        // appended to host names for the ranks' rendezvous
  std::vector<std::string> skip = {};  // names of checks
  /// For all answers; later ones count as missing.
  std::chrono::seconds patience{15};
  /// Identifies this call; set by preflight(). The ports are derived from it.
  std::string mark = {};
};

/// The variable that carries the secret to the nodes: command lines are visible to other users.
constexpr const char* preflight_secret = "DLLAUNCH_PREFLIGHT_SECRET";

Json to_json(const PreflightRequest& request);
/// bad_request: not a valid document.
Result<PreflightRequest> preflight_request_from_json(const Json& document);

/// Returns the request for the current allocation, or for this machine. With a run directory: its
/// folders with the size of the newest checkpoint, ranks and GPUs from its plan.json, as far as
/// readable. bad_request: invalid node list.
Result<PreflightRequest> observe_preflight_request(System& system, const std::string& run_dir);

}  // namespace dllaunch
