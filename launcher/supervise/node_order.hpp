// The order in which a start's ranks number its nodes: a file with one host per rank, which srun
// and mpirun follow. SLURM_PROCID, PMI's ranks and RANK then agree, so that MPI programs and those
// that read Slurm's variables follow it too.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "launcher/plan/start_command.hpp"
#include "launcher/run/journal.hpp"
#include "topology/network/network.hpp"

namespace dllaunch {

/// Returns `needed` of the `fit` nodes: those of `before` first, the others near them, or on as few
/// leaves as possible. The first of `fit` runs the job's script and is always among those of a
/// first start. Without a network, the first ones. In the order of `fit`.
std::vector<std::string> nearest_nodes(const Network* network, const std::vector<std::string>& fit,
                                       std::size_t needed, const std::vector<std::string>& before);

/// Orders the nodes of a start. `before`: the order of the start before; without one, the first
/// node stays the first: scripts expect rank 0 there. `given`: Slurm's order.
JournalNodes number_along(const Network& network, const std::vector<std::string>& given,
                          const std::vector<std::string>& before);

/// The number of nodes below each leaf of the network, in that order; empty: not all are known.
std::vector<int> leaf_sizes(const Network& network, const std::vector<std::string>& order);

/// Makes the starter follow `file`, which has rank_hosts(); an earlier option that lists the same
/// nodes is dropped. unsatisfiable: an option of the user's chooses nodes or their order, or the
/// starter is neither srun nor Open MPI's mpirun.
Result<StartCommand> follow_order(StartCommand start, const std::string& file,
                                  const std::vector<std::string>& order);

/// A line for each rank: its host.
std::string rank_hosts(const std::vector<std::string>& order, int ranks_per_node);

}  // namespace dllaunch
