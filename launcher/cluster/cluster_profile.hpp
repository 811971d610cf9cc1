// What is known about a cluster in advance: one YAML file, built in or the user's. Pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "launcher/config/diagnostics.hpp"
#include "support/json.hpp"
#include "topology/network/network.hpp"
#include "topology/node/topology.hpp"

namespace dllaunch {

/// Shell patterns: `*`, `?`, `[0-9]`. Empty lists are not checked.
struct Recognition {
  std::vector<std::string> clusters = {};    // Slurm's ClusterName
  std::vector<std::string> hosts = {};       // of login nodes, short or fully qualified
  std::vector<std::string> partitions = {};  // at least one must exist
};

struct ProfileNode {
  std::string name = {};  // the profile's name for this node type, "gpu"
  std::string gpu_type = {};
  std::vector<std::string> features = {};
  std::string constraint = {};   // selects this node type
  std::string reserve = "none";  // reserved by the site; not in topology.allowed_cpus
  bool verified = true;          // false if `unverified` names the node as a whole
  bool assumed = false;          // an example to plan with, not read from real nodes
  int packages = 1;
  int cores_per_package = 1;  // includes reserved ones
  int threads_per_core = 1;
  Topology topology = {};
};

struct ProfilePartition {
  std::string name = {};
  std::string node = {};  // a ProfileNode's name
  int nodes = 1;
  bool is_default = false;
  std::optional<int> max_minutes = {};
  bool by_constraint = false;  // not a Slurm partition: the node's constraint is requested instead
};

/// No node that is worth a forecast fails more often.
constexpr double least_node_mtbf_s = 3600;

/// How often nodes fail.
struct ProfileFailures {
  double node_mtbf_s = 0;
  double repair_s = 0;  // mean, at most node_mtbf_s; 0: unknown
  double uneven = 0;    // coefficient of variation of the rate between fortnights
};

struct ProfileContainer {
  std::string runtime = {};              // empty: as in the job
  std::vector<std::string> mounts = {};  // placed before the job's
};

struct ClusterProfile {
  std::string name = {};
  std::string title = {};
  std::string file = {};            // where it was read; "built in" for built-in ones
  std::string text = {};            // the original text
  std::string scheduler = "slurm";  // slurm | pbs | lsf | cobalt
  std::string start = {};           // other schedulers: the line that starts the ranks
  Recognition recognise = {};
  std::vector<ProfileNode> nodes = {};  // the first is the default of --topology NAME
  std::vector<ProfilePartition> partitions = {};
  bool cpus_are_cores = false;  // jobs get one thread per core unless they request more
  std::vector<std::string> modules = {};
  /// By framework: modules the site recommends; informative.
  std::vector<std::pair<std::string, std::vector<std::string>>> suggested_modules = {};
  std::vector<std::pair<std::string, std::string>> variables = {};
  /// Variables that name a folder on a node's local disk; {user}, {job}, {node} are filled in by
  /// rank.
  std::vector<std::pair<std::string, std::string>> node_folders = {};
  std::string mpi = {};          // srun's --mpi; empty: chosen from its list
  std::string host_suffix = {};  // appended to host names for the rendezvous
  ProfileContainer container = {};
  std::vector<std::string> sbatch_extra = {};
  std::vector<std::string> srun_extra = {};
  Network network = {};        // between the nodes; for clusters whose Slurm knows none
  std::string node_book = {};  // a file that the site's users share (launcher/nodes/node_book.hpp)
  Json network_block = {};     // as the profile describes it; null: not at all
  std::optional<ProfileFailures> failures = {};
  std::vector<std::pair<std::string, std::string>> unverified = {};  // key -> what is uncertain

  /// Whether it has examples alone: it stands for any cluster, whatever its partitions are called.
  bool any_cluster() const;
};

struct ParsedProfile {
  std::optional<ClusterProfile> profile;  // nullopt if there is a problem
  std::vector<Diagnostic> problems;       // in file order
};

/// Parses and checks a profile: YAML syntax, unknown and missing keys, types, ranges, node shapes,
/// and references between names.
ParsedProfile parse_cluster_profile(std::string_view text, const std::string& file);

/// The JSON Schema of a profile.
const Json& cluster_profile_schema();

}  // namespace dllaunch
