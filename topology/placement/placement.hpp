// Where ranks go: which CPUs, GPU and NIC each local rank of one node gets, and why.
#pragma once

#include <string>
#include <vector>

#include "support/result.hpp"
#include "topology/node/topology.hpp"

namespace dllaunch {

enum class BindPolicy { closest, spread, none, explicit_masks };  // explicit_masks: "explicit"
enum class BindMode { cores, core, numa };
/// automatic ("auto"): near, unless cores_per_rank asks for more than that.
enum class BindCores { automatic, near, fill };
enum class RankOrder { gpu, numa };

struct PlacementRequest {
  int ranks = 0;  // on this node; 0: one a GPU, without GPUs one per NUMA node that has CPUs
  int gpus = -1;  // use only the first so many GPUs (0: none); -1: all
  int cores_per_rank = 0;  // 0: a fair share
  BindPolicy policy = BindPolicy::closest;
  BindMode mode = BindMode::cores;
  BindCores cores = BindCores::automatic;
  RankOrder order = RankOrder::gpu;
  bool smt = false;  // hand out all hardware threads of a core, not only its first
  // auto | none | first-core-per-l3 | CPU list (a core's first thread stands for the core). auto:
  // what the site keeps for itself is not allowed in the first place.
  std::string reserve = "auto";
  std::vector<IdSet> masks = {};  // policy explicit: one a rank
};

struct RankPlacement {
  int local_rank = 0;
  std::vector<int> gpus = {};  // positions in Topology::gpus
  IdSet cpus = {};             // never empty, inside allowed_cpus
  IdSet far = {};              // of `cpus`, those dealt after the near ones
  IdSet numa = {};             // NUMA nodes of `cpus`
  std::string nic = {};        // nearest by PCI/NUMA distance; empty when none is known
  std::string why = {};        // one sentence for people
};

struct Placement {
  BindPolicy policy = BindPolicy::closest;
  std::vector<RankPlacement> ranks = {};
  std::vector<std::string> warnings = {};  // "ranks 2 and 3 share CPUs 0-1: ..." , in sentences
  std::string reach = {};  // why ranks have far CPUs, a sentence; empty: none has any
  std::string idle = {};   // usable cores that no rank gets, and why: a sentence, or empty
};

/// Pure: the same arguments give the same answer on any machine. The rules are contract.md's
/// section "Placement": locality first, disjoint shares that differ by at most one core inside a
/// locality domain, L3 borders kept where that allows it, sharing only with a warning, hardware
/// threads dealt out before sharing, no empty mask, no CPU outside the allowed set.
///
/// closest and spread differ where a rank takes fewer cores than its share: neighbours, or cores as
/// far apart as the share allows. Ranks without a GPU divide the node; one a NUMA node, each gets
/// its own. More GPUs than ranks: a rank drives several; more ranks than GPUs: rank i drives GPU
/// i mod GPUs, with order numa in blocks along the NUMA nodes.
///
/// Near cores are dealt first. Where `cores` reaches farther (fill; automatic with cores_per_rank),
/// the cores left over then go to the ranks that have the fewest, up to cores_per_rank, each from
/// the NUMA node, the package, the node around what is near. fill leaves no usable core over and
/// lets ranks share only where the node has fewer cores than ranks. Otherwise cores beside no GPU
/// of these ranks stay idle, which `idle` says unless cores: near was asked for.
///
/// bad_request: a reserve list or mask that does not parse or fit; explicit masks fewer than ranks.
/// unsatisfiable: no allowed CPU is left after reserving; cores_per_rank x ranks exceeds the usable
/// cores; more GPUs asked for than the node has.
Result<Placement> place_ranks(const Topology& topology, const PlacementRequest& request);

Result<BindPolicy> parse_bind_policy(std::string_view word);
Result<BindMode> parse_bind_mode(std::string_view word);
Result<BindCores> parse_bind_cores(std::string_view word);
Result<RankOrder> parse_rank_order(std::string_view word);
std::string_view to_string(BindPolicy policy);
std::string_view to_string(BindCores cores);

}  // namespace dllaunch
