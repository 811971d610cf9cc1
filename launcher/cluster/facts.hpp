// Facts observed about the cluster, once, as a value that round-trips through JSON.
// Knows no jobs. Planning reads only these facts, so tests fake nothing else.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "launcher/os/system.hpp"
#include "launcher/slurm/partition.hpp"
#include "support/json.hpp"
#include "support/result.hpp"
#include "topology/network/network.hpp"
#include "topology/node/topology.hpp"

namespace dllaunch {

/// A node examined from inside by `dllaunch probe`.
struct ProbedNode {
  NodeType type = {};  // Slurm's description at that time, with all nodes of the type
  std::string cluster = {};
  std::vector<std::string> partitions = {};
  std::string host = {};  // the node examined
  std::int64_t time = 0;  // Unix seconds
  std::string kernel = {};
  std::vector<std::pair<std::string, std::string>> drivers = {};  // "nvidia" -> "535.104.05"
  std::string dllaunch = {};                                      // version that probed it
  std::string hwloc = {};
  Topology topology = {};
};

/// Nodes that cannot start jobs now.
struct Outage {
  std::vector<std::string> hosts = {};
  std::string state = {};   // "DOWN", "DRAIN", ...
  std::string reason = {};  // written by an administrator

  bool operator==(const Outage&) const = default;
};

/// The user, and the user's record in accounting.
struct SlurmUser {
  std::string name = {};
  std::vector<std::string> groups = {};
  std::string default_account = {};
  std::optional<std::vector<Association>> associations = {};  // nullopt: sacctmgr did not say

  bool operator==(const SlurmUser&) const = default;
};

struct SlurmFacts {
  std::string version = {};  // "22.05.8"
  std::string cluster = {};
  std::vector<std::string> mpi_types = {};  // srun --mpi=list
  std::string mpi_default = {};             // MpiDefault: srun's default for --mpi
  bool pyxis = false;                       // srun has --container-image
  std::vector<Partition> partitions = {};
  std::vector<Outage> outages = {};
  std::vector<std::string> enforced = {};  // AccountingStorageEnforce: "associations", "qos", ...
  std::vector<std::string> submit_plugins = {};  // JobSubmitPlugins, which may change requests
  std::optional<std::vector<Reservation>> reservations = {};  // nullopt: not queried
  std::optional<SlurmUser> user = {};                         // nullopt: not queried
  Network network = {};  // between the nodes; empty: none is configured
  /// An example that stands for any cluster: what a job names is taken to exist there.
  bool any_cluster = false;

  bool enforces(std::string_view what) const;
};

struct ClusterProfile;

struct Facts {
  std::string host = {};
  std::optional<SlurmFacts> slurm = {};   // nullopt: no Slurm here
  std::string why_no_slurm = {};          // "sinfo is not installed"; empty also if not asked
  bool no_mpirun = false;                 // mpirun is not on this machine's PATH
  bool no_mpi_module = false;             // dltrain would find no MPI
  std::optional<Topology> topology = {};  // of the node where ranks would run, if known
  std::vector<ProbedNode> probed = {};    // nodes of this cluster, newest first
  std::int64_t time = 0;                  // when this was observed, in Unix seconds
  std::shared_ptr<const ClusterProfile> profile = {};  // the matching profile
  bool from_profile = false;  // `slurm` comes from the profile of a cluster that is not here
};

/// The facts from Slurm, if installed and configured, and hwloc's topology of this machine. Slurm
/// that is not configured counts as absent. unavailable, timeout: its controller does not answer.
Result<Facts> observe(System& system);
/// Adds what only the presubmit checks need: reservations, and the user's accounting record. Left
/// absent if a query fails.
void observe_user(System& system, SlurmFacts& slurm);
/// Facts about this machine only, without asking Slurm (--local).
Result<Facts> observe_local(System& system);

Json to_json(const Facts& facts);
Result<Facts> facts_from_json(const Json& document);

}  // namespace dllaunch
