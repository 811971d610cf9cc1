// A kernel on the host: the function object is called for each index, backwards. A GPU has no
// order, so this exposes code that relies on one.
#pragma once

#include <cstdint>

#include "gpu_api.hpp"

namespace dllaunch {

template <typename Body>
[[nodiscard]] GpuStatus gpu_for(GpuStream stream, std::int64_t count, const Body& body) {
  if (host_gpu_refuses_launch()) return GpuStatus::launch_failed;
  const auto work = [count, body] {
    ++host_gpu_work();
    for (std::int64_t i = count; i-- > 0;) body(i);
  };
  host_gpu_compute(stream, work);
  return gpu_success;
}

}  // namespace dllaunch
