// Solo: the communicator of a single rank; every collective is already done.
// Starts no MPI and sends nothing.
#pragma once

#include <memory>

#include "runtime/communicators/communicator.hpp"
#include "runtime/rank/rank_env.hpp"
#include "support/result.hpp"

namespace dllaunch {

/// bad_request: several ranks.
Result<std::unique_ptr<Communicator>> open_solo(const RankEnv& env);

/// The first of `ranks` ranks, whose collectives exchange nothing: what a rank holds can be tried
/// without the others.
std::unique_ptr<Communicator> stand_in_for(int ranks);

}  // namespace dllaunch
