// How often nodes fail, from what runs saw of them: the node book. Pure.
//
// A failure is a node that Slurm lost, a rank whose error names hardware, or wrong numbers: what
// weighs 1 in the book, while ranks were on the node. What may be the program's own (a signal, a
// stall, a script that vanished) is counted apart. The time is that of the ranks on their nodes.
//
// A rate from k failures in T node-hours is uncertain: seen from the data alone it is
// gamma-distributed with shape k and mean k / T, whose coefficient of variation is 1 / sqrt(k).
// Nodes that fail together are one observation, whatever jobs had them. A group is what one job
// lost together, since jobs of the book's width are hit by it. Nothing is known of repairs.
#pragma once

#include <string>
#include <vector>

#include "launcher/failures/failure_rates.hpp"
#include "launcher/nodes/sighting.hpp"
#include "support/result.hpp"

namespace dllaunch {

/// `cluster`: Slurm's name; empty: the only one of the book. `now`: Unix seconds. What is older
/// than the book remembers, or than its oldest use, is left out. bad_request: several clusters, or
/// not this one; a cluster is one on which ranks ran. unsatisfiable: no node failed, or no run is
/// in it.
Result<FailureRates> rates_of_book(const std::vector<NodeSighting>& seen,
                                   const std::string& cluster, double now);

}  // namespace dllaunch
