// Where trials run: parts of one machine or of an allocation, each for one trial at a time. Pure.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "support/id_set.hpp"
#include "support/result.hpp"
#include "topology/placement/placement.hpp"

namespace dllaunch {

/// All empty: a trial that is a job of a cluster, or has the whole machine.
struct Slot {
  IdSet cpus = {};             // of the machine, or of each of the nodes; empty: all
  std::vector<int> gpus = {};  // positions in Topology::gpus
  std::string nodes = {};      // of an allocation, a host list
};

/// As many trials as the machine has GPUs for, and a core for each rank and GPU; at least 1. 1 also
/// if no variable can give a trial its GPUs. `trial`: one trial alone, with its ranks and GPUs.
int slots_that_fit(const Topology& node, const PlacementRequest& trial);

/// The most parts that slots_on() can make.
int most_slots(const Topology& node, const PlacementRequest& trial);

/// `many` parts for trials that `trial` describes, apart as place_ranks() places ranks: with GPUs
/// one rank to each, near it, else one to each trial. Whole cores: a trial places its own ranks
/// inside. bad_request: the machine has fewer GPUs or cores, or no variable can give a trial its
/// GPUs. As place_ranks().
Result<std::vector<Slot>> slots_on(const Topology& node, const PlacementRequest& trial, int many);

/// Slots of an allocation with these nodes. `parts`: of a node, for trials on one node; empty: each
/// trial has `nodes` whole ones. At most `most`. unsatisfiable: fewer than `nodes`.
Result<std::vector<Slot>> slots_in(const std::vector<std::string>& hosts, int nodes,
                                   const std::vector<Slot>& parts, std::optional<int> most);

}  // namespace dllaunch
