// Peers over MPI: a duplicate of MPI_COMM_WORLD, and parts of it.
#pragma once

#include <memory>

#include "runtime/communicators/peers/peers.hpp"
#include "runtime/rank/rank_env.hpp"
#include "support/result.hpp"

namespace dllaunch {

/// Collective: returns all ranks. Errors as in start_mpi().
Result<std::unique_ptr<Peers>> open_mpi_peers(const RankEnv& env);

}  // namespace dllaunch
