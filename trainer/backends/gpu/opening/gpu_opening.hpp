// Argument of a GPU module's entry point: inputs from dltrain, and the backend that the module
// opens.
#pragma once

#include <memory>
#include <optional>

#include "runtime/rank/rank_env.hpp"
#include "trainer/backends/backend.hpp"

namespace dllaunch::gpu {

struct GpuOpening {
  RankEnv rank = {};
  EnvLookup lookup = {};
  std::optional<Result<std::unique_ptr<Backend>>> opened = {};
};

}  // namespace dllaunch::gpu
