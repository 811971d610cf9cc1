// The fastest communicator between CPUs.
#pragma once

#include <memory>

#include "runtime/communicators/communicator.hpp"
#include "runtime/rank/rank_env.hpp"
#include "support/result.hpp"

namespace dllaunch {

/// solo for one rank, else hierarchical, else mpi where the ranks of a node cannot share memory:
/// rank 0 warns then.
Result<std::unique_ptr<Communicator>> open_host_communicator(const RankEnv& env);

}  // namespace dllaunch
