// A parameter server, for comparison: centralised, every rank speaks to rank 0 alone.
#pragma once

#include <memory>

#include "runtime/communicators/communicator.hpp"
#include "runtime/rank/rank_env.hpp"
#include "support/result.hpp"

namespace dllaunch {

/// With p ranks and n bytes: two steps, and (p - 1) n bytes into and out of the server, so that its
/// link is the limit (Li et al. 2014, OSDI). Errors as start_mpi().
Result<std::unique_ptr<Communicator>> open_parameter_server(const RankEnv& env);

}  // namespace dllaunch
