// The arithmetic of every communicator, in one place: what a reduction is, element by element.
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
  int ranks = 1;  // what an average divides by; 1 in all but the last of several reductions
};

/// Every destinations[d] gets, for `count` elements, the reduction over all sources, added in the
/// order of `sources`: the same bits wherever it is computed. No alignment is needed. A
/// destination may be a source; otherwise none may overlap. At least one source.
void reduce(const Reduction& reduction, std::span<const std::byte* const> sources,
            std::span<std::byte* const> destinations, std::size_t count);

/// reduce() for each instruction set that this CPU has, the one it uses last. All give the same
/// bits.
struct ReductionVariant {
  std::string_view name;
  void (*reduce)(const Reduction& reduction, std::span<const std::byte* const> sources,
                 std::span<std::byte* const> destinations, std::size_t count);
};
std::vector<ReductionVariant> reduction_variants();

}  // namespace dllaunch
