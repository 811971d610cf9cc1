// A kernel on the host: the function object is called for each index, backwards. A GPU has no
// order, so this exposes code that relies on one.
#pragma once

#include <array>
#include <cstddef>
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

/// The sums of runtime/gpu/gpu_for.hpp in the same order, from as many lanes.
template <typename Body>
[[nodiscard]] GpuStatus gpu_reduce(GpuStream stream, std::int64_t count, const Body& body) {
  if (host_gpu_refuses_launch()) return GpuStatus::launch_failed;
  constexpr std::size_t lanes = 256;
  const auto work = [count, body] {
    ++host_gpu_work();
    for (std::int64_t i = count; i-- > 0;) {
      std::array<typename Body::Part, lanes> parts;
      for (std::size_t lane = lanes; lane-- > 0;) {
        parts[lane] = body.part(i, static_cast<std::int64_t>(lane), lanes);
      }
      for (std::size_t half = lanes / 2; half > 0; half /= 2) {
        for (std::size_t lane = half; lane-- > 0;) Body::join(parts[lane], parts[lane + half]);
      }
      body.finish(i, parts[0]);
    }
  };
  host_gpu_compute(stream, work);
  return gpu_success;
}

}  // namespace dllaunch
