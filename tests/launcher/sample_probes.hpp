// Nodes of sample_plans.hpp's clusters, as `dllaunch probe` would have seen them.
#pragma once

#include "launcher/cluster/facts.hpp"

namespace dllaunch {

/// The first node of the type, with a topology of just the shape that Slurm says.
ProbedNode probe_of(const Facts& facts, const NodeType& type);

}  // namespace dllaunch
