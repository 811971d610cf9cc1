// NCCL communicator: NCCL or RCCL in a module that is loaded on demand.
// dltrain itself links neither library; the module knows no models or backends.
#pragma once

#include <memory>
#include <optional>

#include "runtime/communicators/communicator.hpp"
#include "runtime/rank/rank_env.hpp"
#include "support/result.hpp"

namespace dllaunch {

/// Passes between dltrain and the module.
struct NcclOpening {
  std::unique_ptr<Communicator>* host = nullptr;
  const RankEnv* env = nullptr;
  std::optional<Result<std::unique_ptr<Communicator>>> opened = {};
};

/// Collective. unavailable: this build has no module, or its libraries or a GPU are missing here.
Result<std::unique_ptr<Communicator>> open_nccl(const RankEnv& env);

/// The same over `host`, which it takes only if it succeeds.
Result<std::unique_ptr<Communicator>> open_nccl_over(std::unique_ptr<Communicator>& host,
                                                     const RankEnv& env);

}  // namespace dllaunch
