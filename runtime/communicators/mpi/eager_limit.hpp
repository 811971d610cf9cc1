// Up to what size a message over TCP goes at once.
#pragma once

#include <cstddef>

#include "runtime/rank/rank_env.hpp"

namespace dllaunch {

/// Bytes. A larger one first asks its receiver for leave, and the answer waits behind all that the
/// receiver itself is sending over the same connection: two ranks that send to each other then take
/// turns, and half of a full-duplex link is idle. Open MPI's btl_tcp_eager_limit (64 KiB unless
/// mpirun or the environment says otherwise; its parameter files are not read), without what its
/// headers take.
std::size_t eager_limit_over_tcp(const EnvLookup& environment);

}  // namespace dllaunch
