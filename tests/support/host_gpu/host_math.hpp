// Convolutions and matrix products by plain loops, for the host instead of a GPU.
#pragma once

#include <set>
#include <vector>

#include "trainer/backends/gpu/layers/engine_choice.hpp"

namespace dllaunch::gpu {

/// Computes in `type` at once. Overwrites the workspace it asks for, to expose code that relies on
/// it.
std::unique_ptr<MathLibrary> make_host_math();

/// A library with several engines for each pass, set or inspected by tests.
struct HostEngines {
  std::vector<Engine> listed = {{.id = {1}}};
  std::set<EngineId> fails = {};          // planned, but fails to run
  std::vector<EngineId> planned = {};     // so far
  std::vector<EngineId> runs = {};        // so far
  std::shared_ptr<EngineBook> book = {};  // if set, backend host_gpu computes with engines
};
inline HostEngines& host_engines() {
  static HostEngines engines;
  return engines;
}
/// All engines compute what make_host_math()'s convolutions do.
std::unique_ptr<MathLibrary> make_host_engines(std::shared_ptr<EngineBook> book);

}  // namespace dllaunch::gpu
