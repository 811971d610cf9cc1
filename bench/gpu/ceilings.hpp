// Measures the current GPU's peak rates, of a large matrix product and of copies, and what kernels
// achieve of them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "bench/gpu/step_costs.hpp"
#include "support/result.hpp"
#include "trainer/backends/gpu/math_library.hpp"

namespace dllaunch::gpu {

struct CeilingSizes {
  std::int64_t side = 8192;                   // of the matrices
  std::size_t copied = std::size_t{1} << 30;  // bytes; on a small GPU an eighth of its free memory
  int runs = 10;                              // timed together
  int rounds = 5;                             // the fastest counts
};

using MakeMatmul = std::function<Result<std::unique_ptr<Matmul>>(const MatmulShape&)>;

/// Returns operations per second, two per multiply-add, and bytes per second, read plus written:
/// the faster of the driver's copy and a kernel's. unavailable: not enough memory, or no such
/// product.
Result<Ceilings> measure_ceilings(const MakeMatmul& make, const Numerics& numerics,
                                  const CeilingSizes& sizes = {});

/// One launch of a kernel.
struct KernelRate {
  std::string name = {};
  double bytes = 0;  // of every array of activations or partial sums read or written, counted once
  double seconds = 0;
};

/// Runs the kernels of a normalisation with a ReLU, of an addition and of a ReLU over activations
/// [pixels, channels] of `type`; the fastest round counts. unavailable: not enough memory.
Result<std::vector<KernelRate>> measure_kernels(DType type, std::int64_t pixels,
                                                std::int64_t channels,
                                                const CeilingSizes& sizes = {});

}  // namespace dllaunch::gpu
