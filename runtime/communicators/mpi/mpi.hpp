// MPI communicator: the collectives of the MPI library. Only its module includes mpi.h.
// Does not share memory or overlap copies itself; hierarchical does, over mpi_peers.hpp.
#pragma once

#include <cstddef>
#include <memory>

#include "runtime/communicators/communicator.hpp"
#include "runtime/rank/rank_env.hpp"
#include "support/result.hpp"

namespace dllaunch {

/// Starts MPI if it is not running; only then does it finalize MPI. unavailable,
/// bad_request: as start_mpi().
Result<std::unique_ptr<Communicator>> open_mpi(const RankEnv& env);

/// As open_mpi, with at most `most_elements` per MPI call. MPI counts are ints, so larger
/// collectives are split; a small number tests the splitting without gigabytes.
Result<std::unique_ptr<Communicator>> open_mpi_in_chunks(const RankEnv& env,
                                                         std::size_t most_elements);

}  // namespace dllaunch
