// What the loops of all optimisers have in common.
//
// They are compiled with -O3 for the oldest CPU of the architecture (trainer/tables.cmake): they
// wait for memory, not for arithmetic, and ranks on CPUs of different age must get the same bits.
#pragma once

#include <algorithm>
#include <array>
#include <limits>

#include "trainer/optimizers/optimizer.hpp"

namespace dllaunch {

/// Calls `step` with a value of the arenas' type: double{} or float{}.
template <typename Step>
auto with_type(DType type, Step step) {
  return type == DType::f64 ? step(double{}) : step(float{});
}

template <typename Real>
Real* weights_of(const ParameterUpdate& slot) {
  return static_cast<Real*>(slot.weights);
}

template <typename Real>
Real* gradients_of(const ParameterUpdate& slot) {
  return static_cast<Real*>(slot.gradients);
}

template <typename Real>
Real* state_of(const ParameterUpdate& slot, std::size_t index) {
  return static_cast<Real*>(slot.states[index]);
}

/// Never zero, whatever is left of it in `Real`: where gradient and state are zero, as they are in
/// a slot's padding, 0 / (0 + eps) has to be zero.
template <typename Real>
Real eps_of(const OptimizerOptions& options) {
  return std::max(static_cast<Real>(options.eps), std::numeric_limits<Real>::min());
}

/// In double, in lanes: a sum that the compiler may vectorise without changing it.
template <typename Real>
double sum_of_squares(const Real* values, std::size_t count) {
  constexpr std::size_t lanes = 16;
  std::array<double, lanes> sums{};
  const std::size_t whole = count - count % lanes;
  for (std::size_t i = 0; i < whole; i += lanes) {
    for (std::size_t lane = 0; lane < lanes; ++lane) {
      const double value = values[i + lane];
      sums[lane] += value * value;
    }
  }
  for (std::size_t i = whole; i < count; ++i) {
    const double value = values[i];
    sums[i - whole] += value * value;
  }
  double sum = 0;
  for (const double lane : sums) sum += lane;
  return sum;
}

}  // namespace dllaunch
