// What passes between dltrain and libdltrain_cuda.so.
#pragma once

#include <memory>
#include <optional>

#include "runtime/rank_env.hpp"
#include "trainer/backend.hpp"

namespace dllaunch {

struct CudaOpening {
  RankEnv rank = {};
  EnvLookup lookup = {};
  std::optional<Result<std::unique_ptr<Backend>>> opened = {};
};

}  // namespace dllaunch
