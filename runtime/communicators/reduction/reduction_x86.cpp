// reduce() on x86-64: one build runs on every node, with the widest vectors of each. All give the
// same bits: no addition is reordered or fused with a multiplication.
#include "runtime/communicators/reduction/reduction_kernel.hpp"

namespace dllaunch {
namespace {

void reduce_sse2(const Reduction& reduction, std::span<const std::byte* const> sources,
                 std::span<std::byte* const> destinations, std::size_t count) {
  reduce_any<16>(reduction, sources, destinations, count);
}

[[gnu::target("avx2")]] void reduce_avx2(const Reduction& reduction,
                                         std::span<const std::byte* const> sources,
                                         std::span<std::byte* const> destinations,
                                         std::size_t count) {
  reduce_any<32>(reduction, sources, destinations, count);
}

[[gnu::target("avx512f,avx512bw,avx512vl,avx512dq,prefer-vector-width=512")]] void reduce_avx512(
    const Reduction& reduction, std::span<const std::byte* const> sources,
    std::span<std::byte* const> destinations, std::size_t count) {
  reduce_any<64>(reduction, sources, destinations, count);
}

}  // namespace

std::vector<ReductionVariant> reduction_variants() {
  std::vector<ReductionVariant> variants = {{"sse2", reduce_sse2}};
  if (__builtin_cpu_supports("avx2") != 0) variants.push_back({"avx2", reduce_avx2});
  const bool avx512 =
      __builtin_cpu_supports("avx512f") != 0 && __builtin_cpu_supports("avx512bw") != 0 &&
      __builtin_cpu_supports("avx512vl") != 0 && __builtin_cpu_supports("avx512dq") != 0;
  if (avx512) variants.push_back({"avx512", reduce_avx512});
  return variants;
}

void reduce(const Reduction& reduction, std::span<const std::byte* const> sources,
            std::span<std::byte* const> destinations, std::size_t count) {
  static const auto widest = reduction_variants().back().reduce;
  widest(reduction, sources, destinations, count);
}

}  // namespace dllaunch
