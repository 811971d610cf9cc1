// A kernel is a function object called once per index, in no order. For CUDA and HIP, whose
// compilers include their runtime's header first (nvcc by default, hipcc by option). Bodies are
// constexpr, which nvcc (--expt-relaxed-constexpr) and clang compile for both sides.
#pragma once

#include <cstdint>

#include "gpu_api.hpp"

namespace dllaunch {

constexpr std::int64_t gpu_threads = 256;  // per block

/// `step` is the number of threads of all blocks. It is an argument because HIP computes gridDim
/// and blockDim by division, and clang 17 fails to compile some of their uses.
template <typename Body>
__global__ void call_for_each(std::int64_t count, std::int64_t step, Body body) {
  std::int64_t i = blockIdx.x * gpu_threads + threadIdx.x;
#pragma unroll 1  // to unroll it, nvcc divides by `step` in every thread
  for (; i < count; i += step) body(i);
}

/// Asynchronous; gpu_last_error() reports a failed launch.
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
