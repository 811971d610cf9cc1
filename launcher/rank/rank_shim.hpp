// The rank shim: what `dllaunch exec` decides for a rank (CPUs, GPUs, variables) before it becomes
// the rank's program.
// Pure. It does not bind, set variables or find peers; cli/commands/exec.cpp and rank/rendezvous
// do.
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

/// The plan's settings for the ranks of one node, from plan.json.
struct PlannedBinding {
  std::vector<IdSet> masks = {};  // by local rank; empty with policy none
  PlacementRequest request = {};  // for a new placement if the masks do not fit
  bool exact = true;              // false: this node's topology may differ from the plan's
  std::vector<std::vector<std::string>> gpus = {};  // PCI addresses, by local rank
  std::vector<std::string> nics = {};               // names, by local rank; "" if none is near
  std::string framework = "none";                   // empty: the built-in trainer
  SiteSettings site = {};                           // settings of the cluster profile for the node
  std::vector<std::string> left_alone = {};         // variables that the shim must not set
};

/// bad_request: not a plan.
Result<PlannedBinding> read_planned_binding(std::string_view plan_json);

/// What a rank sees on its node.
struct RankContext {
  RankEnv rank = {};
  std::string host = {};
  Topology node = {};           // the actual one
  std::vector<int> gpus = {};   // positions in `node` of the visible ones, in the runtime's order
  bool some_gpus = false;       // a variable restricts the GPUs: `gpus` may not be all of them
  bool gpus_unknown = false;    // visible GPUs cannot be identified by address
  int gpu_count = 0;            // number of visible GPUs, also if they cannot be identified
  IdSet current = {};           // current CPU mask
  bool bound_by_slurm = false;  // srun bound each task to its own CPUs
};

struct RankBinding {
  IdSet cpus = {};        // to bind to; empty: leave the binding
  int cores = 1;          // number of cores in them, or the fair share if unbound
  bool shared = false;    // other ranks of the node use some of them too
  std::string note = {};  // one line if the binding differs from the plan; empty: as planned
  std::vector<std::string> gpus = {};  // from choose_gpus()
  std::string nic = {};                // from choose_nic()
};

/// Whether srun bound each task to its own CPUs. On part of a node, --cpu-bind=none gives every
/// task the whole step's CPUs as one mask: then the shim divides them.
bool bound_by_slurm(const EnvLookup& lookup, const RankEnv& rank);

/// Returns the plan's mask if the plan knew the node, its GPUs are the visible ones and all masks
/// of the node fit, so that all its ranks decide alike; otherwise a placement on the actual node.
/// Masks set by the user count as known. Never fails: a rank that cannot be bound runs unbound,
/// with a note.
RankBinding choose_binding(const PlannedBinding& planned, const RankContext& context);

/// Returns PCI addresses of the rank's GPUs: the planned ones if the plan knew the node and all of
/// them are visible, otherwise those of a placement on the actual node. Depends on GPUs only, not
/// on CPU binding: all ranks of a node decide alike, and no two share a GPU because one could not
/// be bound. Empty: none, or unknown.
std::vector<std::string> choose_gpus(const PlannedBinding& planned, const RankContext& seen);

/// Returns the planned network card of the rank if this node has it, `gpus` (from choose_gpus())
/// are the planned ones, and it is of a fast network: nothing says where an ordinary one leads.
/// Empty: none.
std::string choose_nic(const PlannedBinding& planned, const RankContext& context,
                       const std::vector<std::string>& gpus);

/// Fills in the visible GPUs from the VISIBLE_DEVICES variables: on a shared node Slurm may give
/// any GPUs.
void see_gpus(const EnvLookup& lookup, RankContext& context);

/// Returns the rank's own one of the MIG instances listed in CUDA_VISIBLE_DEVICES: CUDA uses only
/// the first, so the ranks of a node would share that one. Any other list is returned as it is.
std::string own_mig_instance(const std::string& visible, int local_rank);

/// Returns RANK, LOCAL_RANK, WORLD_SIZE, LOCAL_WORLD_SIZE, NODE_RANK if known, DLLAUNCH_RUN_DIR,
/// DLLAUNCH_GPUS with the addresses of the rank's GPUs if any, DLLAUNCH_NIC with the name of its
/// network card if any, and CUDA_VISIBLE_DEVICES if it lists several MIG instances. Unless set by
/// the user: OMP_NUM_THREADS, and OMP_WAIT_POLICY=passive if ranks share CPUs (threads spinning at
/// a barrier keep other ranks off the CPU: up to 3x slower).
std::vector<std::pair<std::string, std::string>> rank_variables(const RankEnv& rank,
                                                                const RankBinding& binding,
                                                                const std::string& run_dir,
                                                                const EnvLookup& lookup);

}  // namespace dllaunch
