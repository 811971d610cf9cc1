// compress() and expand() with the compiler's default instruction set only; NEON on 64-bit Arm.
#include "runtime/gradients/error_feedback_kernel.hpp"

namespace dllaunch {
namespace {

void compress_portable(DType type, float limit, std::span<const float> gradients, float* residuals,
                       std::byte* wire) {
  compress_any<16>(type, limit, gradients, residuals, wire);
}
void expand_portable(DType type, const std::byte* wire, std::span<float> gradients) {
  expand_any<16>(type, wire, gradients);
}

}  // namespace

std::vector<FeedbackVariant> feedback_variants() {
  return {{"portable", compress_portable, expand_portable}};
}

}  // namespace dllaunch
