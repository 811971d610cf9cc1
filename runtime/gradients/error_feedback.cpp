#include "runtime/gradients/error_feedback.hpp"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <cstdint>

#include "runtime/numerics/float16.hpp"

namespace dllaunch {
namespace {

const FeedbackVariant& widest() {
  static const FeedbackVariant variant = feedback_variants().back();
  return variant;
}

/// Each of the ranks - 1 additions may round by half a unit in the last place, u = 2^-digits, so
/// the sum is at most (1 + u)^(ranks - 1) times the exact one. It is also never more than twice
/// that: a summand below half a unit of the sum is lost, any other adds less than itself by
/// rounding. Another (1 + u) covers a node's sum that is rounded first.
template <typename T, typename Round>
float largest(float most, int digits, int ranks, Round round) {
  const double unit = 1 + std::ldexp(1.0, -digits);
  const double growth = std::min(std::pow(unit, ranks - 1), 2 * unit);
  const double limit = static_cast<double>(most) / growth / ranks;
  T share = round(static_cast<float>(limit));
  // Numbers of one sign are ordered like their bits.
  while (static_cast<double>(to_float(share)) > limit && share.bits > 0) --share.bits;
  return to_float(share);
}

}  // namespace

float largest_summand(DType type, int ranks) {
  assert(type == DType::f16 || type == DType::bf16);
  if (type == DType::f16) return largest<Float16>(to_float(Float16{0x7bff}), 11, ranks, to_float16);
  return largest<BFloat16>(to_float(BFloat16{0x7f7f}), 8, ranks, to_bfloat16);
}

void compress(DType type, float limit, std::span<const float> gradients, float* residuals,
              std::byte* wire) {
  widest().compress(type, limit, gradients, residuals, wire);
}

void expand(DType type, const std::byte* wire, std::span<float> gradients) {
  widest().expand(type, wire, gradients);
}

}  // namespace dllaunch
