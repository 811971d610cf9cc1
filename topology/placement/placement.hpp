// Placement: decides which CPUs, GPU and NIC each local rank of one node gets, and why. Pure.
// Binds nothing and prints nothing: it neither discovers the node nor knows srun or mpirun.
#pragma once

#include <string>
#include <vector>

#include "support/result.hpp"
#include "topology/node/topology.hpp"

namespace dllaunch {

enum class BindPolicy { closest, spread, none, explicit_masks };  // explicit_masks: "explicit"
enum class BindMode { cores, core, numa };
/// automatic ("auto"): near, unless cores_per_rank asks for more.
enum class BindCores { automatic, near, fill };
enum class RankOrder { gpu, numa };

struct PlacementRequest {
  int ranks = 0;  // on this node; 0: one per GPU, or without GPUs one per NUMA node that has CPUs
  int gpus = -1;  // use only the first `gpus` GPUs (0: none); -1: all
  int cores_per_rank = 0;  // 0: an equal share
  BindPolicy policy = BindPolicy::closest;
  BindMode mode = BindMode::cores;
  BindCores cores = BindCores::automatic;
  RankOrder order = RankOrder::gpu;
  bool smt = false;  // use all hardware threads of a core, not only the first
  // auto | none | first-core-per-l3 | CPU list (a core's first thread stands for the core). auto
  // reserves nothing: CPUs that the site keeps for itself are not allowed anyway.
  std::string reserve = "auto";
  std::vector<IdSet> masks = {};  // policy explicit: one per rank
};

struct RankPlacement {
  int local_rank = 0;
  std::vector<int> gpus = {};  // positions in Topology::gpus
  IdSet cpus = {};             // never empty, inside allowed_cpus
  IdSet far = {};              // of `cpus`, those assigned after the near ones
  IdSet numa = {};             // NUMA nodes of `cpus`
  std::string nic = {};        // nearest by PCI/NUMA distance; empty if none is known
  std::string why = {};        // one sentence for people
};

struct Placement {
  BindPolicy policy = BindPolicy::closest;
  std::vector<RankPlacement> ranks = {};
  std::vector<std::string> warnings = {};  // sentences: "ranks 2 and 3 share CPUs 0-1: ..."
  std::string reach = {};  // why ranks have far CPUs, a sentence; empty: none has any
  std::string idle = {};   // usable cores that no rank gets, and why: a sentence, or empty
};

/// Returns the placement of all ranks on the node. Pure: equal arguments give equal results on any
/// machine. It promises: locality first; disjoint shares that differ by at most one core inside a
/// locality domain; L3 borders kept where that allows it; hardware threads assigned before sharing;
/// sharing only with a warning; no empty mask; no CPU outside the allowed set.
///
/// closest and spread differ if a rank takes fewer cores than its share: adjacent cores, or cores
/// as far apart as the share allows. Ranks without a GPU divide the node; with one rank per NUMA
/// node, each gets its own. With more GPUs than ranks, a rank drives several. With more ranks than
/// GPUs, rank i drives GPU i mod GPUs; order numa assigns them in blocks along the NUMA nodes.
///
/// Near cores are assigned first. If `cores` reaches farther (fill; automatic with cores_per_rank),
/// the remaining cores go to the ranks with the fewest, up to cores_per_rank, each from the NUMA
/// node, then the package, then the node around its near ones. fill leaves no usable core idle, and
/// lets ranks share only if the node has fewer cores than ranks. Otherwise cores near no GPU of
/// these ranks stay idle; `idle` says so unless cores: near was requested.
///
/// bad_request: a reserve list or mask that does not parse or fit; fewer explicit masks than ranks.
/// unsatisfiable: reserving leaves no allowed CPU; cores_per_rank x ranks exceeds the usable cores;
/// more GPUs requested than the node has.
Result<Placement> place_ranks(const Topology& topology, const PlacementRequest& request);

Result<BindPolicy> parse_bind_policy(std::string_view word);
Result<BindMode> parse_bind_mode(std::string_view word);
Result<BindCores> parse_bind_cores(std::string_view word);
Result<RankOrder> parse_rank_order(std::string_view word);
std::string_view to_string(BindPolicy policy);
std::string_view to_string(BindCores cores);

}  // namespace dllaunch
