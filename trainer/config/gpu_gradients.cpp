#include "trainer/config/gpu_gradients.hpp"

#include <fmt/core.h>

#include <algorithm>

#include "trainer/backends/table/backends.hpp"

namespace dllaunch {

std::string passes_host(const RuntimeConfig& runtime) {
  if (runtime.compression != Compression::none) {
    return fmt::format("runtime.compression {}", to_string(runtime.compression));
  }
  return runtime.gradient_lag > 0 ? "runtime.gradient_lag" : "";
}

bool reduces_on_gpu(const TrainConfig& config) {
  if (!passes_host(config.runtime).empty()) return false;
  const auto suits = [&](const BackendEntry& entry) {
    return (config.backend == "auto" || config.backend == entry.name) &&
           (config.device == "auto" || config.device == entry.device) &&
           (entry.expected == nullptr || entry.expected()) &&
           std::ranges::find(entry.precisions, config.precision) != entry.precisions.end();
  };
  const auto first = std::ranges::find_if(backends(), suits);
  return first != backends().end() && first->gpu_memory;
}

}  // namespace dllaunch
