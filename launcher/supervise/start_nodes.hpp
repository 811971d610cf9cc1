// Selects the nodes of the allocation on which ranks start: without nodes Slurm has lost, and
// without nodes found unfit by a pre-flight.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "launcher/os/system.hpp"
#include "launcher/run/journal.hpp"
#include "launcher/supervise/attempt_watch.hpp"
#include "launcher/supervise/node_fitness.hpp"
#include "topology/network/network.hpp"

namespace dllaunch {

struct StartNodes {
  NodeFitness fitness = {};  // empty: no pre-flight ran
  std::string list = {};     // for srun --nodelist; empty: srun chooses
  bool too_few = false;
  bool overlap = false;                  // an earlier step may keep its CPUs
  std::size_t held = 0;                  // that the job has; 0: unknown
  std::vector<std::string> spared = {};  // fit, but left to the spares (recovery.avoid)
};

/// What else decides which nodes are taken; see nearest_nodes().
struct Nearness {
  const Network* network = nullptr;
  std::vector<std::string> before = {};
  /// Nodes to be left to the spares where others are fit, worst first (recovery.avoid).
  std::vector<std::string> unwanted = {};
};

/// Nodes that earlier starts of the run found to be bad: once for each start.
struct BadNodes {
  std::vector<std::string> nodes = {};
  std::string why = {};
};

/// How many nodes the ranks take: `most` where so many are fit, at least `fewest`. Both 0: unknown.
struct NodesWanted {
  std::size_t most = 0;
  std::size_t fewest = 0;
};

/// Selects the nodes. `always`: return a list even if all nodes are fit.
StartNodes pick_nodes(NodeFitness fitness, NodesWanted wanted, bool always,
                      const Nearness& nearness = {});

/// Selects the nodes, with a pre-flight if `preflight`. `again`: the ranks were started here
/// before. `bad` ones are left out like those that are not fit; where too few remain, only those
/// that were bad twice.
StartNodes choose_start_nodes(System& system, const SupervisedRun& run, bool preflight, bool again,
                              const Nearness& nearness = {}, const BadNodes& bad = {});

/// Restricts the run to the nodes of the list, if there is one, with ranks for so many. Returns
/// lines for the log that say so. After a node loss the ranks' step overlaps CPUs that Slurm
/// considers in use: a step that ran on a silent node keeps them forever on the others (22.05:
/// "step creation temporarily disabled"), even after the node is down and its ranks have ended.
std::string start_on(const StartNodes& nodes, SupervisedRun& run);

/// Returns the pre-flight's record; nullopt if no check ran and no node is missing.
std::optional<JournalPreflight> seen_in(const StartNodes& nodes, const JobAllocation& allocation,
                                        double time);

/// The starter's options for ranks on `nodes` nodes instead of `planned` ones.
void resize(StartCommand& start, std::size_t planned, std::size_t nodes, int ranks_per_node);

/// Whether the remaining nodes, including this one, are enough for the ranks after a node was lost.
/// `silent` becomes those that do not answer and that Slurm has not marked down yet.
bool has_enough_nodes(System& system, const SupervisedRun& run, std::vector<std::string>& silent);

}  // namespace dllaunch
