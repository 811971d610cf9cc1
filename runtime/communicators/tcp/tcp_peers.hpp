// Peers over TCP: ranks meet without MPI and exchange messages over sockets, without a thread.
// Knows no shared memory and no reductions between nodes: hierarchical does.
#pragma once

#include <memory>

#include "runtime/communicators/peers/peers.hpp"
#include "runtime/communicators/tcp/meeting.hpp"
#include "runtime/rank/rank_env.hpp"
#include "support/result.hpp"

namespace dllaunch {

/// Collective: returns all ranks. They meet at MASTER_ADDR and MASTER_PORT; all callers in a
/// process share the connections, which end with the last of them. unavailable: the launcher gave
/// no place or no secret, or the port is in use. timeout: not all ranks came.
Result<std::unique_ptr<Peers>> open_tcp_peers(const RankEnv& env, const EnvLookup& lookup);

/// As open_tcp_peers, at a given place, with connections of its own.
Result<std::unique_ptr<Peers>> open_tcp_peers_at(const MeetingPlan& plan);

}  // namespace dllaunch
