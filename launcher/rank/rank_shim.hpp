// What `dllaunch exec` decides for a rank before it becomes the rank's program. Pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "launcher/rank/node_folders.hpp"
#include "runtime/rank/rank_env.hpp"
#include "topology/node/topology.hpp"
#include "topology/placement/placement.hpp"

namespace dllaunch {

/// What plan.json says of the ranks of one node.
struct PlannedBinding {
  std::vector<IdSet> masks = {};  // by local rank; empty with policy none
  PlacementRequest request = {};  // to place anew where the masks do not fit
  bool exact = true;              // false: this node may be wired otherwise than the plan's
  std::vector<std::vector<std::string>> gpus = {};  // PCI addresses, by local rank
  std::string framework = "none";  // empty: the built-in trainer, which asks MPI for its peers
  SiteSettings site = {};          // what the cluster's profile wants done on the node
};

/// bad_request: not a plan.
Result<PlannedBinding> read_planned_binding(std::string_view plan_json);

/// What one rank sees on its node.
struct RankScene {
  RankEnv rank = {};
  std::string host = {};
  Topology node = {};           // the real one
  std::vector<int> gpus = {};   // positions in `node` of those it sees, in the runtime's order
  bool some_gpus = false;       // a variable says which: `gpus` is not simply all of them
  bool gpus_unknown = false;    // it sees some, or none, and nobody can tell by address which
  int gpu_count = 0;            // how many it sees, also where nobody knows which
  IdSet current = {};           // what it is bound to now
  bool bound_by_slurm = false;  // srun gave each task its own CPUs
};

struct RankBinding {
  IdSet cpus = {};        // to bind to; empty: leave it as it is
  int cores = 1;          // that these, or its fair share when unbound, make
  bool shared = false;    // other ranks of the node run on some of them too
  std::string note = {};  // one line when it is not what the plan said; empty: as planned
  std::vector<std::string> gpus = {};  // choose_gpus()
};

/// Whether srun gave each task its own CPUs. On a part of a node --cpu-bind=none gives every task
/// the step's whole share, as one mask: that is no task's own, and the shim deals it out.
bool bound_by_slurm(const EnvLookup& lookup, const RankEnv& rank);

/// The plan's mask where it knew the node, its GPUs are those that are seen here and all masks of
/// the node fit it, so that all its ranks decide alike; else a placement on what is really here.
/// Masks that the user wrote count as known. Never fails: a rank that cannot be bound runs unbound
/// and says so.
RankBinding choose_binding(const PlannedBinding& planned, const RankScene& scene);

/// PCI addresses of the GPUs that the rank is to drive: those that the plan dealt to it where it
/// knew the node and all that it dealt are there and seen; else those of a placement on what is
/// really here. By the GPUs alone, whatever the ranks are bound to: all ranks of a node decide
/// alike, and no two take one GPU because one of them could not be bound. Empty: none, or nobody
/// knows.
std::vector<std::string> choose_gpus(const PlannedBinding& planned, const RankScene& seen);

/// Fills in which GPUs of its node the rank sees, by the VISIBLE_DEVICES variables: on a shared
/// node Slurm gives any, not the first ones.
void see_gpus(const EnvLookup& lookup, RankScene& scene);

/// RANK, LOCAL_RANK, WORLD_SIZE, LOCAL_WORLD_SIZE, NODE_RANK where known, DLLAUNCH_RUN_DIR,
/// DLLAUNCH_GPUS with the addresses of the binding's GPUs where there are any. Unless
/// the user set them: OMP_NUM_THREADS, and where ranks share CPUs OMP_WAIT_POLICY=passive (threads
/// that spin at a barrier keep the other ranks off the CPU: up to 3x slower).
std::vector<std::pair<std::string, std::string>> rank_variables(const RankEnv& rank,
                                                                const RankBinding& binding,
                                                                const std::string& run_dir,
                                                                const EnvLookup& lookup);

}  // namespace dllaunch
