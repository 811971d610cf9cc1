// Host communicator: opens the fastest communicator between CPUs.
// Has no collectives of its own: it picks solo, hierarchical or mpi, and the transport below.
#pragma once

#include <memory>

#include "runtime/communicators/communicator.hpp"
#include "runtime/communicators/peers/peers.hpp"
#include "runtime/rank/rank_env.hpp"
#include "support/result.hpp"

namespace dllaunch {

/// Opens solo for one rank, else hierarchical. If the ranks of a node cannot share memory, all data
/// goes through the transport, and rank 0 warns.
Result<std::unique_ptr<Communicator>> open_host_communicator(const RankEnv& env);

/// Collective among `group`, a part of the ranks. Opens their fastest communicator.
Result<std::unique_ptr<Communicator>> open_host_group(std::unique_ptr<Peers> group);

}  // namespace dllaunch
