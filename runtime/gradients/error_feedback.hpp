// Gradients as 16-bit floats on the wire. The rounding error stays in a residual and is added to
// the next step's gradient (Seide et al. 2014, Karimireddy et al. 2019).
#pragma once

#include <cstddef>
#include <span>
#include <string_view>
#include <vector>

#include "runtime/numerics/dtype.hpp"

namespace dllaunch {

/// The largest number of `type` (f16 or bf16) whose sum over `ranks` stays finite.
float largest_summand(DType type, int ranks);

/// For each element: r += gradient; wire = r clamped to [-limit, limit] and rounded to nearest
/// even; r -= wire. If r is NaN or infinite, the wire carries it and r becomes zero: the others
/// must see it, but later steps must not. `type` is f16 or bf16; no alignment is needed.
void compress(DType type, float limit, std::span<const float> gradients, float* residuals,
              std::byte* wire);

/// gradients = wire, exactly.
void expand(DType type, const std::byte* wire, std::span<float> gradients);

/// Both functions for each instruction set of this CPU; the default one is last. All give the same
/// bits.
struct FeedbackVariant {
  std::string_view name;
  void (*compress)(DType type, float limit, std::span<const float> gradients, float* residuals,
                   std::byte* wire);
  void (*expand)(DType type, const std::byte* wire, std::span<float> gradients);
};
std::vector<FeedbackVariant> feedback_variants();

}  // namespace dllaunch
