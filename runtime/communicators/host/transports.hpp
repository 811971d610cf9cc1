// Opens the ranks of the job over the transport that their launcher and the user chose.
#pragma once

#include <memory>

#include "runtime/communicators/peers/peers.hpp"
#include "runtime/rank/rank_env.hpp"
#include "support/result.hpp"

namespace dllaunch {

/// Collective: returns all ranks. Errors of transport_of(), open_tcp_peers() and open_mpi_peers().
Result<std::unique_ptr<Peers>> open_peers(const RankEnv& env);

}  // namespace dllaunch
