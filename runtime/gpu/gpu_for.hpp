// A kernel is a body called once for each index, in no order: for CUDA and HIP, whose compilers see
// their runtime's header first, nvcc by itself and hipcc as told. Bodies are constexpr, which nvcc
// (--expt-relaxed-constexpr) and clang take as code for both sides.
#pragma once

#include <cstdint>

#include "gpu_api.hpp"

namespace dllaunch {

constexpr std::int64_t gpu_threads = 256;  // of a block

/// `step` is the number of threads of all blocks. An argument: in HIP, gridDim and blockDim are
/// divisions of what the launch's packet says, and clang 17 fails to compile some uses of them.
template <typename Body>
__global__ void call_for_each(std::int64_t count, std::int64_t step, Body body) {
  std::int64_t i = blockIdx.x * gpu_threads + threadIdx.x;
  for (; i < count; i += step) body(i);
}

/// Returns at once; what a launch leaves behind gpu_last_error() says.
template <typename Body>
void gpu_for(GpuStream stream, std::int64_t count, const Body& body) {
  constexpr std::int64_t most_blocks = std::int64_t{1} << 20;
  if (count <= 0) return;
  const std::int64_t needed = (count + gpu_threads - 1) / gpu_threads;
  const std::int64_t blocks = needed < most_blocks ? needed : most_blocks;
  call_for_each<<<static_cast<unsigned>(blocks), static_cast<unsigned>(gpu_threads), 0, stream>>>(
      count, blocks * gpu_threads, body);
}

}  // namespace dllaunch
