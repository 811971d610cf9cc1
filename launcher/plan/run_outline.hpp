// The part of a plan that is needed to follow, explain or list its run.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "launcher/job/node_numbering.hpp"
#include "launcher/job/recovery.hpp"
#include "launcher/plan/program_paths.hpp"
#include "support/json.hpp"

namespace dllaunch {

enum class Launcher { local, slurm };

/// What the job keeps others from using, of each node. nullopt: unknown, or a plan of an older
/// version.
struct NodeShare {
  std::optional<int> cores = {};
  std::optional<int> gpus = {};  // devices: one that ranks share counts once
};

/// Consecutive ones, from DLLAUNCH_COMPONENT_NAME_PORT.
inline constexpr int ports_of_component = 64;

/// A component of a modular job; its run is in RUN/components/NAME.
struct ComponentOutline {
  std::string name = {};
  bool ends_job = false;  // the whole is over when it has completed
  int nodes = 1;
  int ranks_per_node = 1;
  std::string signal = {};       // that asks its ranks to save; empty: they are not asked
  std::string host_suffix = {};  // appended to host names, to reach them
  bool along_network = false;    // its nodes are numbered along the network, where one is known
  NodeShare occupies = {};
  int ranks() const { return nodes * ranks_per_node; }
};

struct RunOutline {
  std::string name;
  Launcher launcher = Launcher::local;
  bool allocated = false;  // local to a process in a Slurm allocation, which srun uses
  int nodes = 1;
  int ranks_per_node = 1;
  int ranks() const;
  std::vector<ComponentOutline> components = {};            // empty: not modular
  std::vector<std::pair<std::string, std::string>> sbatch;  // "--nodes" -> "2"; value may be empty
  std::optional<std::string> array = {};                    // "0-9%2"
  std::string signal;                                       // "USR2"
  /// Whether to forward the signal to the ranks. Off for commands that may not handle the signal:
  /// its default action is to terminate.
  bool asks_ranks = true;
  int grace_seconds = 120;
  RecoveryPlan recovery = {};
  NodeNumbering network_order = NodeNumbering::automatic;
  Json network = {};           // as the cluster's profile describes it; null: not at all
  std::string node_book = {};  // the file that the profile names; empty: none
  NodeShare occupies = {};
  Paths paths;
};

/// Returns the outline from a plan.json of any version. Missing or invalid values get their
/// defaults.
RunOutline outline_from_json(const Json& document);

/// The directory of a component's run.
std::string component_dir(const std::string& run_dir, const std::string& name);

/// "2 nodes + 1 spare".
std::string node_words(const RunOutline& plan);

}  // namespace dllaunch
