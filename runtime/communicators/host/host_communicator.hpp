// Host communicator: opens the fastest communicator between CPUs.
// Has no collectives of its own: it picks solo, hierarchical or mpi, and the transport below.
#pragma once

#include <functional>
#include <memory>

#include "runtime/communicators/communicator.hpp"
#include "runtime/communicators/peers/peers.hpp"
#include "runtime/rank/rank_env.hpp"
#include "support/result.hpp"

namespace dllaunch {

/// Opens solo for one rank, else hierarchical. If the ranks of a node cannot share memory, all data
/// goes through the transport, and rank 0 warns.
Result<std::unique_ptr<Communicator>> open_host_communicator(const RankEnv& env);

/// Collective. Opens the fastest communicator of a part of the ranks, likewise. `part`, collective
/// too, returns them; it is called once or twice.
Result<std::unique_ptr<Communicator>> open_host_group(
    const std::function<std::unique_ptr<Peers>()>& part);

}  // namespace dllaunch
