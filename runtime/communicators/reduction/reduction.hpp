// Reduction: the arithmetic of every communicator, element by element, with SIMD.
// Moves no data between ranks: it works on memory of this process.
#pragma once

#include <cstddef>
#include <span>
#include <string_view>
#include <vector>

#include "runtime/numerics/dtype.hpp"
#include "runtime/numerics/reduce_op.hpp"

namespace dllaunch {

struct Reduction {
  DType type = DType::f32;
  ReduceOp op = ReduceOp::sum;
  int ranks = 1;  // divisor of an average; 1 in all but the last of several reductions
};

/// Every destinations[d] gets, for `count` elements, the reduction over all sources, added in the
/// order of `sources`: the bits do not depend on where it is computed. Sums of integers wrap
/// around. No alignment is needed. A destination may be a source; no other overlap is allowed. At
/// least one source.
void reduce(const Reduction& reduction, std::span<const std::byte* const> sources,
            std::span<std::byte* const> destinations, std::size_t count);

/// reduce() for each instruction set of this CPU; the default one is last. All give the same bits.
struct ReductionVariant {
  std::string_view name;
  void (*reduce)(const Reduction& reduction, std::span<const std::byte* const> sources,
                 std::span<std::byte* const> destinations, std::size_t count);
};
std::vector<ReductionVariant> reduction_variants();

}  // namespace dllaunch
