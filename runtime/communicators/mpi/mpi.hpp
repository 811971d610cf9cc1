// Collectives of the MPI library. Only this folder includes mpi.h.
#pragma once

#include <cstddef>
#include <memory>

#include "runtime/communicators/communicator.hpp"
#include "runtime/rank/rank_env.hpp"
#include "support/result.hpp"

namespace dllaunch {

/// Starts MPI where nobody has; who started it ends it.
/// unavailable: several ranks whose launcher gave MPI no way to find them, or MPI has ended here.
/// bad_request: MPI sees other ranks than the environment says.
Result<std::unique_ptr<Communicator>> open_mpi(const RankEnv& env);

/// As open_mpi, with no MPI call over more than `most_elements`: MPI counts are ints, so larger
/// collectives are split. A small number shows the splitting without gigabytes.
Result<std::unique_ptr<Communicator>> open_mpi_in_chunks(const RankEnv& env,
                                                         std::size_t most_elements);

}  // namespace dllaunch
