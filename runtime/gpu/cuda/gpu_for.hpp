// A kernel is a body called once for each index, in no order: this one for CUDA. Bodies are
// constexpr, which nvcc (--expt-relaxed-constexpr) takes as code for both sides.
#pragma once

#include <cstdint>

#include "gpu_api.hpp"

namespace dllaunch {

template <typename Body>
__global__ void call_for_each(std::int64_t count, Body body) {
  const std::int64_t step = std::int64_t{gridDim.x} * blockDim.x;
  std::int64_t i = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  for (; i < count; i += step) body(i);
}

/// Returns at once; what a launch leaves behind gpu_last_error() says.
template <typename Body>
void gpu_for(GpuStream stream, std::int64_t count, const Body& body) {
  constexpr std::int64_t threads = 256;
  constexpr std::int64_t most_blocks = std::int64_t{1} << 20;
  if (count <= 0) return;
  const std::int64_t blocks = (count + threads - 1) / threads;
  const auto grid = static_cast<unsigned>(blocks < most_blocks ? blocks : most_blocks);
  call_for_each<<<grid, static_cast<unsigned>(threads), 0, stream>>>(count, body);
}

}  // namespace dllaunch
