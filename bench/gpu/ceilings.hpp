// What the current GPU does at most, tried out: a large product of matrices, and copies.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>

#include "bench/gpu/step_costs.hpp"
#include "support/result.hpp"
#include "trainer/backends/gpu/math_library.hpp"

namespace dllaunch::gpu {

struct CeilingSizes {
  std::int64_t side = 8192;                   // of the matrices
  std::size_t copied = std::size_t{1} << 30;  // bytes; of a small GPU an eighth of what is free
  int runs = 10;                              // timed together
  int rounds = 5;                             // of which the fastest counts
};

using MakeProduct = std::function<Result<std::unique_ptr<Product>>(const ProductShape&)>;

/// Operations a second: two for each multiplication with its addition. Bytes a second: those read
/// and those written; the faster one of the driver's copy and a kernel's. unavailable: too little
/// memory, or no such product.
Result<Ceilings> measure_ceilings(const MakeProduct& make, const Numerics& numerics,
                                  const CeilingSizes& sizes = {});

}  // namespace dllaunch::gpu
