// reduce() with the compiler's default instruction set only; see reduction_x86.cpp. On 64-bit Arm
// that has NEON, whose registers are the vectors of 16 bytes.
#include "runtime/communicators/reduction/reduction_kernel.hpp"

namespace dllaunch {

void reduce(const Reduction& reduction, std::span<const std::byte* const> sources,
            std::span<std::byte* const> destinations, std::size_t count) {
  reduce_any<16>(reduction, sources, destinations, count);
}

std::vector<ReductionVariant> reduction_variants() {
  return {{"portable", reduce}};
}

}  // namespace dllaunch
