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
#include "launcher/slurm/gres.hpp"
#include "support/json.hpp"
#include "support/result.hpp"
#include "topology/node/topology.hpp"

namespace dllaunch {

/// Identical nodes of one partition.
struct NodeType {
  std::vector<std::string> hosts = {};
  int cpus = 0;  // in Slurm's unit: hardware threads if ThreadsPerCore > 1
  int sockets = 1;
  int cores_per_socket = 1;
  int threads_per_core = 1;
  std::uint64_t memory_mib = 0;
  int gpus = 0;
  std::string gpu_type = {};  // "h100", empty if untyped; the first of several
  std::vector<std::string> features = {};
  /// All GPU types of a node; `gpus` counts those that apply when no type is requested.
  std::vector<GpuGres> gpu_gres = {};
};

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

/// Whether Slurm treats two accounts, QOS or users as the same: it ignores case.
bool same_name(std::string_view a, std::string_view b);

/// Who has access: everyone or only those allowed, except those denied.
struct AccessList {
  std::vector<std::string> allowed = {};  // empty: all
  std::vector<std::string> denied = {};

  /// Ignores case, as Slurm does.
  bool admits(const std::string& name) const;
  bool operator==(const AccessList&) const = default;
};

struct Partition {
  std::string name = {};
  bool is_default = false;
  bool up = true;
  std::optional<int> max_minutes = {};  // nullopt: no limit
  std::vector<NodeType> node_types = {};
  std::string state = "UP";                 // UP | DOWN (queues only) | DRAIN, INACTIVE (refuses)
  std::optional<int> default_minutes = {};  // nullopt: max_minutes
  int min_nodes = 0;                        // per job
  std::optional<int> max_nodes = {};        // per job; nullopt: no limit
  AccessList accounts = {};
  AccessList qos = {};
  AccessList groups = {};
};

/// Nodes that cannot start jobs now.
struct Outage {
  std::vector<std::string> hosts = {};
  std::string state = {};   // "DOWN", "DRAIN", ...
  std::string reason = {};  // written by an administrator

  bool operator==(const Outage&) const = default;
};

struct Reservation {
  std::string name = {};
  bool active = false;
  std::int64_t start = 0;  // Unix seconds
  std::int64_t end = 0;
  std::vector<std::string> hosts = {};
  std::string partition = {};              // empty: any
  std::vector<std::string> users = {};     // "-name" excludes a user
  std::vector<std::string> accounts = {};  // the same
  std::vector<std::string> groups = {};
  std::vector<std::string> flags = {};

  bool operator==(const Reservation&) const = default;
};

/// Accounts to which a user may charge a job.
struct Association {
  std::string account = {};
  std::string partition = {};         // empty: any
  std::vector<std::string> qos = {};  // empty: Slurm did not say

  bool operator==(const Association&) const = default;
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

  bool enforces(std::string_view what) const;
};

struct ClusterProfile;

struct Facts {
  std::string host = {};
  std::optional<SlurmFacts> slurm = {};   // nullopt: no Slurm here
  std::string why_no_slurm = {};          // "sinfo is not installed", for messages
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
