#include "runtime/error_feedback.hpp"

#include <cassert>
#include <cstdint>

#include "runtime/float16.hpp"

namespace dllaunch {
namespace {

const FeedbackVariant& widest() {
  static const FeedbackVariant variant = feedback_variants().back();
  return variant;
}

/// Numbers of one sign are in the order of their bits.
template <typename T, typename Round>
float largest(float most, int ranks, Round round) {
  T share = round(most / static_cast<float>(ranks));
  while (static_cast<double>(to_float(share)) * ranks > static_cast<double>(most)) --share.bits;
  return to_float(share);
}

}  // namespace

float largest_summand(DType type, int ranks) {
  assert(type == DType::f16 || type == DType::bf16);
  if (type == DType::f16) return largest<Float16>(to_float(Float16{0x7bff}), ranks, to_float16);
  return largest<BFloat16>(to_float(BFloat16{0x7f7f}), ranks, to_bfloat16);
}

void compress(DType type, float limit, std::span<const float> gradients, float* residuals,
              std::byte* wire) {
  widest().compress(type, limit, gradients, residuals, wire);
}

void expand(DType type, const std::byte* wire, std::span<float> gradients) {
  widest().expand(type, wire, gradients);
}

}  // namespace dllaunch
