// What was observed of the cluster, once: the only thing tests must fake. Round-trips through JSON.
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

/// Nodes of one partition that are alike.
struct NodeType {
  std::vector<std::string> hosts = {};
  int cpus = 0;  // as Slurm counts: hardware threads where ThreadsPerCore > 1
  int sockets = 1;
  int cores_per_socket = 1;
  int threads_per_core = 1;
  std::uint64_t memory_mib = 0;
  int gpus = 0;
  std::string gpu_type = {};  // "h100", empty where Slurm has no type; of several the first
  std::vector<std::string> features = {};
  /// All of a node that has several; `gpus` are those that count where nobody names a type.
  std::vector<GpuGres> gpu_gres = {};
};

/// A node that `dllaunch probe` looked at from inside.
struct ProbedNode {
  NodeType type = {};  // as Slurm described it then, with the names of all nodes described so
  std::string cluster = {};
  std::vector<std::string> partitions = {};
  std::string host = {};  // the one that was looked at
  std::int64_t time = 0;  // when, in Unix seconds
  std::string kernel = {};
  std::vector<std::pair<std::string, std::string>> drivers = {};  // "nvidia" -> "535.104.05"
  std::string dllaunch = {};                                      // versions that looked
  std::string hwloc = {};
  Topology topology = {};
};

/// Accounts, QOS and users are the same to Slurm whatever the case of their letters.
bool same_name(std::string_view a, std::string_view b);

/// Who may come in: everybody, or only those named; and those kept out.
struct AccessList {
  std::vector<std::string> allowed = {};  // empty: all
  std::vector<std::string> denied = {};

  /// As Slurm compares names: whatever their case.
  bool admits(const std::string& name) const;
  bool operator==(const AccessList&) const = default;
};

struct Partition {
  std::string name = {};
  bool is_default = false;
  bool up = true;
  std::optional<int> max_minutes = {};  // absent: no limit
  std::vector<NodeType> node_types = {};
  std::string state = "UP";                 // UP | DOWN (queues only) | DRAIN, INACTIVE (refuses)
  std::optional<int> default_minutes = {};  // absent: max_minutes
  int min_nodes = 0;                        // of a job
  std::optional<int> max_nodes = {};        // of a job; absent: no limit
  AccessList accounts = {};
  AccessList qos = {};
  AccessList groups = {};
};

/// Nodes that exist and can start nothing now.
struct Outage {
  std::vector<std::string> hosts = {};
  std::string state = {};   // "DOWN", "DRAIN", ...
  std::string reason = {};  // as an administrator wrote it

  bool operator==(const Outage&) const = default;
};

struct Reservation {
  std::string name = {};
  bool active = false;
  std::int64_t start = 0;  // Unix seconds
  std::int64_t end = 0;
  std::vector<std::string> hosts = {};
  std::string partition = {};              // empty: any
  std::vector<std::string> users = {};     // "-name": not this one
  std::vector<std::string> accounts = {};  // the same
  std::vector<std::string> groups = {};
  std::vector<std::string> flags = {};

  bool operator==(const Reservation&) const = default;
};

/// What a user may charge a job to.
struct Association {
  std::string account = {};
  std::string partition = {};         // empty: any
  std::vector<std::string> qos = {};  // empty: Slurm did not say

  bool operator==(const Association&) const = default;
};

/// Who asks, and what accounting knows of them.
struct SlurmUser {
  std::string name = {};
  std::vector<std::string> groups = {};
  std::string default_account = {};
  std::optional<std::vector<Association>> associations = {};  // absent: sacctmgr did not say

  bool operator==(const SlurmUser&) const = default;
};

struct SlurmFacts {
  std::string version = {};  // "22.05.8"
  std::string cluster = {};
  std::vector<std::string> mpi_types = {};  // srun --mpi=list
  std::string mpi_default = {};             // MpiDefault: what srun takes without --mpi
  bool pyxis = false;                       // srun has --container-image
  std::vector<Partition> partitions = {};
  std::vector<Outage> outages = {};
  std::vector<std::string> enforced = {};  // AccountingStorageEnforce: "associations", "qos", ...
  std::vector<std::string> submit_plugins = {};  // JobSubmitPlugins, which may change what is asked
  std::optional<std::vector<Reservation>> reservations = {};  // absent: not asked for
  std::optional<SlurmUser> user = {};                         // absent: not asked for

  bool enforces(std::string_view what) const;
};

struct ClusterProfile;

struct Facts {
  std::string host = {};
  std::optional<SlurmFacts> slurm = {};   // absent: no Slurm here
  std::string why_no_slurm = {};          // "sinfo is not installed", for messages
  std::optional<Topology> topology = {};  // of the node ranks would run on, where it is known
  std::vector<ProbedNode> probed = {};    // nodes of this cluster, newest first
  std::int64_t time = 0;                  // when all this was observed, in Unix seconds
  std::shared_ptr<const ClusterProfile> profile = {};  // what is known of this cluster besides
  bool from_profile = false;  // `slurm` is what the profile says of a cluster that is not here
};

/// Asks Slurm where it is installed and configured, hwloc for this machine. Slurm that is installed
/// but not configured counts as absent; unavailable/timeout: configured, but its controller is
/// silent.
Result<Facts> observe(System& system);
/// What the checks before the queue want to know besides, and a plan does not: reservations, and
/// who the user is to Slurm. What does not answer stays absent.
void observe_user(System& system, SlurmFacts& slurm);
/// This machine alone, Slurm not asked (--local).
Result<Facts> observe_local(System& system);

Json to_json(const Facts& facts);
Result<Facts> facts_from_json(const Json& document);

}  // namespace dllaunch
