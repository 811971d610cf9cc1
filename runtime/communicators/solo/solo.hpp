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

}  // namespace dllaunch
