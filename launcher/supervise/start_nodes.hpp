// Selects the nodes of the allocation on which ranks start: without nodes Slurm has lost, and
// without nodes found unfit by a pre-flight.
#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include "launcher/os/system.hpp"
#include "launcher/run/journal.hpp"
#include "launcher/supervise/attempt_watch.hpp"
#include "launcher/supervise/node_fitness.hpp"

namespace dllaunch {

struct StartNodes {
  NodeFitness fitness = {};  // empty: no pre-flight ran
  std::string list = {};     // for srun --nodelist; empty: srun chooses
  bool too_few = false;
  bool lost = false;  // Slurm has lost some nodes
};

/// `needed`: by the ranks; 0: unknown. `always`: a list even where none is unfit.
StartNodes pick_nodes(NodeFitness fitness, std::size_t needed, bool always);

/// `preflight`: look at the nodes themselves too. `again`: the ranks were started here before.
StartNodes choose_start_nodes(System& system, const SupervisedRun& run, bool preflight, bool again);

/// Those of its list alone count from here on. After a loss the ranks' step takes CPUs that Slurm
/// believes in use: what ran on a node that fell silent keeps them for ever on the others (22.05:
/// "step creation temporarily disabled"), even when the node is down and its ranks are long gone.
void start_on(const StartNodes& nodes, SupervisedRun& run);

/// Nothing: nobody has looked, and nobody is missing.
std::optional<JournalPreflight> seen_in(const StartNodes& nodes, const JobAllocation& allocation,
                                        double time);

/// For the ranks, after one was lost: without it, and with the one that this runs on.
bool has_enough_nodes(System& system, const SupervisedRun& run);

}  // namespace dllaunch
