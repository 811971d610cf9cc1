// Gradients as 16-bit floats on the wire, without losing what rounding cuts off: it is kept in a
// residual and added to the next step's gradient (Seide et al. 2014, Karimireddy et al. 2019).
#pragma once

#include <cstddef>
#include <span>
#include <string_view>
#include <vector>

#include "runtime/numerics/dtype.hpp"

namespace dllaunch {

/// The largest number of `type` (f16 or bf16) of which a sum over `ranks` is no infinity.
float largest_summand(DType type, int ranks);

/// For each element: r += gradient; wire = r, brought within [-limit, limit] and rounded to nearest
/// even; r -= wire. Where r is NaN or infinite the wire carries that and r becomes zero: the others
/// must see it, and it must not haunt later steps. `type` is f16 or bf16; no alignment is needed.
void compress(DType type, float limit, std::span<const float> gradients, float* residuals,
              std::byte* wire);

/// gradients = wire, exactly.
void expand(DType type, const std::byte* wire, std::span<float> gradients);

/// Both for each instruction set that this CPU has, the one they use last. All give the same bits.
struct FeedbackVariant {
  std::string_view name;
  void (*compress)(DType type, float limit, std::span<const float> gradients, float* residuals,
                   std::byte* wire);
  void (*expand)(DType type, const std::byte* wire, std::span<float> gradients);
};
std::vector<FeedbackVariant> feedback_variants();

}  // namespace dllaunch
