// compress() and expand() on x86-64, built like reduction_x86.cpp.
#include "runtime/gradients/error_feedback_kernel.hpp"

namespace dllaunch {
namespace {

void compress_sse2(DType type, float limit, std::span<const float> gradients, float* residuals,
                   std::byte* wire) {
  compress_any<16>(type, limit, gradients, residuals, wire);
}
void expand_sse2(DType type, const std::byte* wire, std::span<float> gradients) {
  expand_any<16>(type, wire, gradients);
}

[[gnu::target("avx2")]] void compress_avx2(DType type, float limit,
                                           std::span<const float> gradients, float* residuals,
                                           std::byte* wire) {
  compress_any<32>(type, limit, gradients, residuals, wire);
}
[[gnu::target("avx2")]] void expand_avx2(DType type, const std::byte* wire,
                                         std::span<float> gradients) {
  expand_any<32>(type, wire, gradients);
}

[[gnu::target("avx512f,avx512bw,avx512vl,avx512dq,prefer-vector-width=512")]] void compress_avx512(
    DType type, float limit, std::span<const float> gradients, float* residuals, std::byte* wire) {
  compress_any<64>(type, limit, gradients, residuals, wire);
}
[[gnu::target("avx512f,avx512bw,avx512vl,avx512dq,prefer-vector-width=512")]] void expand_avx512(
    DType type, const std::byte* wire, std::span<float> gradients) {
  expand_any<64>(type, wire, gradients);
}

}  // namespace

std::vector<FeedbackVariant> feedback_variants() {
  std::vector<FeedbackVariant> variants = {{"sse2", compress_sse2, expand_sse2}};
  if (__builtin_cpu_supports("avx2") != 0) {
    variants.push_back({"avx2", compress_avx2, expand_avx2});
  }
  const bool avx512 =
      __builtin_cpu_supports("avx512f") != 0 && __builtin_cpu_supports("avx512bw") != 0 &&
      __builtin_cpu_supports("avx512vl") != 0 && __builtin_cpu_supports("avx512dq") != 0;
  if (avx512) variants.push_back({"avx512", compress_avx512, expand_avx512});
  return variants;
}

}  // namespace dllaunch
