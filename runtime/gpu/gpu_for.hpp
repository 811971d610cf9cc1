// A kernel is a function object called once per index, in no order. For CUDA and HIP, whose
// compilers include their runtime's header first (nvcc by default, hipcc by option). Bodies are
// constexpr, which nvcc (--expt-relaxed-constexpr) and clang compile for both sides.
#pragma once

#include <cstdint>

#include "gpu_api.hpp"

namespace dllaunch {

constexpr std::int64_t gpu_threads = 256;  // per block
/// For __launch_bounds__. CUDA: blocks that fit into a multiprocessor, so a thread has at most 80
/// registers; without a bound, kernels take up to 110, and with 4 some move registers to memory.
/// HIP: wavefronts per SIMD unit.
constexpr int gpu_fitting_blocks = 3;

/// `step` is the number of threads of all blocks. It is an argument because HIP computes gridDim
/// and blockDim by division, and clang 17 fails to compile some of their uses.
template <typename Body>
__global__ void __launch_bounds__(gpu_threads, gpu_fitting_blocks)
    call_for_each(std::int64_t count, std::int64_t step, Body body) {
  std::int64_t i = blockIdx.x * gpu_threads + threadIdx.x;
#pragma unroll 1  // to unroll it, nvcc divides by `step` in every thread
  for (; i < count; i += step) body(i);
}

/// Asynchronous. Returns the status of the launch.
template <typename Body>
[[nodiscard]] GpuStatus gpu_for(GpuStream stream, std::int64_t count, const Body& body) {
  constexpr std::int64_t most_blocks = std::int64_t{1} << 20;
  if (count <= 0) return gpu_success;
  const std::int64_t needed = (count + gpu_threads - 1) / gpu_threads;
  const std::int64_t blocks = needed < most_blocks ? needed : most_blocks;
  std::int64_t step = blocks * gpu_threads;
  Body copy = body;
  void* arguments[] = {&count, &step, &copy};
  // Not <<<>>>, which drops the status.
  return gpu_launch(reinterpret_cast<const void*>(&call_for_each<Body>),
                    static_cast<unsigned>(blocks), static_cast<unsigned>(gpu_threads), arguments,
                    stream);
}

/// A block per index; its threads, called lanes, compute parts that are joined in a fixed tree, the
/// same for any width of a warp: every run gives the same bits. `Body` has
///   Part: trivially constructible
///   part(index, lane, lanes): returns what lane 0 .. lanes - 1 adds up
///   join(Part& to, const Part& from), static
///   finish(index, part of all lanes)
template <typename Body>
__global__ void __launch_bounds__(gpu_threads, gpu_fitting_blocks) call_for_each_block(Body body) {
  __shared__ typename Body::Part parts[gpu_threads];
  const std::int64_t lane = threadIdx.x;
  parts[lane] = body.part(blockIdx.x, lane, gpu_threads);
  for (std::int64_t half = gpu_threads / 2; half > 0; half /= 2) {
    __syncthreads();
    if (lane < half) Body::join(parts[lane], parts[lane + half]);
  }
  if (lane == 0) body.finish(blockIdx.x, parts[0]);
}

/// As gpu_for(); count < 2^31.
template <typename Body>
[[nodiscard]] GpuStatus gpu_reduce(GpuStream stream, std::int64_t count, const Body& body) {
  if (count <= 0) return gpu_success;
  Body copy = body;
  void* arguments[] = {&copy};
  return gpu_launch(reinterpret_cast<const void*>(&call_for_each_block<Body>),
                    static_cast<unsigned>(count), static_cast<unsigned>(gpu_threads), arguments,
                    stream);
}

}  // namespace dllaunch
