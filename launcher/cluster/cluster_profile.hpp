// What is known of a cluster before anybody asks it: one YAML file, ours or the user's. Pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "launcher/config/diagnostics.hpp"
#include "support/json.hpp"
#include "topology/node/topology.hpp"

namespace dllaunch {

/// Patterns as the shell's: `*`, `?`, `[0-9]`. What is empty says nothing.
struct Recognition {
  std::vector<std::string> clusters = {};    // Slurm's ClusterName
  std::vector<std::string> hosts = {};       // of login nodes, short or full
  std::vector<std::string> partitions = {};  // at least one of them must be there
};

struct ProfileNode {
  std::string name = {};  // "gpu", as the profile calls this type of node
  std::string gpu_type = {};
  std::vector<std::string> features = {};
  std::string constraint = {};   // what a job asks for to get this type of node
  std::string reserve = "none";  // what the site keeps for itself; not in topology.allowed_cpus
  bool verified = true;          // unverified: does not name the node as a whole
  bool assumed = false;          // an example to plan with, no reading of real nodes
  int packages = 1;
  int cores_per_package = 1;  // those in reserve too
  int threads_per_core = 1;
  Topology topology = {};
};

struct ProfilePartition {
  std::string name = {};
  std::string node = {};  // a ProfileNode's name
  int nodes = 1;
  bool is_default = false;
  std::optional<int> max_minutes = {};
  bool by_constraint =
      false;  // no partition of Slurm's: the node's constraint is asked for instead
};

struct ProfileContainer {
  std::string runtime = {};              // empty: the job's
  std::vector<std::string> mounts = {};  // before the job's own
};

struct ClusterProfile {
  std::string name = {};
  std::string title = {};
  std::string file = {};            // where it was read, "built in" for ours
  std::string text = {};            // as it was read
  std::string scheduler = "slurm";  // slurm | pbs | lsf | cobalt
  std::string start = {};           // other schedulers: the line that starts the ranks
  Recognition recognise = {};
  std::vector<ProfileNode> nodes = {};  // the first is what --topology NAME means
  std::vector<ProfilePartition> partitions = {};
  bool cpus_are_cores = false;  // the site's jobs get one thread a core unless they ask for more
  std::vector<std::string> modules = {};
  /// By framework: what the site says to load, for readers.
  std::vector<std::pair<std::string, std::vector<std::string>>> suggested_modules = {};
  std::vector<std::pair<std::string, std::string>> variables = {};
  /// Variables that name a folder on a node's own disk; {user}, {job}, {node} are the rank's.
  std::vector<std::pair<std::string, std::string>> node_folders = {};
  std::string mpi = {};          // srun's --mpi; empty: chosen from its list
  std::string host_suffix = {};  // put behind host names where ranks meet
  ProfileContainer container = {};
  std::vector<std::string> sbatch_extra = {};
  std::vector<std::string> srun_extra = {};
  std::vector<std::pair<std::string, std::string>> unverified = {};  // key -> what is not sure
};

struct ParsedProfile {
  std::optional<ClusterProfile> profile;  // absent when there is a problem
  std::vector<Diagnostic> problems;       // in file order
};

/// Checked: YAML syntax, unknown and missing keys, types, ranges, node shapes, and that names used
/// in one place are given in another.
ParsedProfile parse_cluster_profile(std::string_view text, const std::string& file);

/// JSON Schema of such a file.
const Json& cluster_profile_schema();

}  // namespace dllaunch
