// The largest message over TCP that is sent without a handshake.
#pragma once

#include <cstddef>

#include "runtime/rank/rank_env.hpp"

namespace dllaunch {

/// Returns bytes. A larger message first asks its receiver, whose answer queues behind all that the
/// receiver itself is sending on the same connection. Two ranks that send to each other then
/// alternate, and half of a full-duplex link is idle. The value is Open MPI's btl_tcp_eager_limit
/// (64 KiB unless mpirun or the environment sets it; its parameter files are not read) less its
/// headers.
std::size_t eager_limit_over_tcp(const EnvLookup& environment);

}  // namespace dllaunch
