// What the file of an optimiser is made of. The same code runs on a CPU and, called by a kernel, on
// a GPU: an operator() is one element's work, constexpr (nvcc --expt-relaxed-constexpr, clang), and
// leans on no order.
//
// An optimiser is a struct with
//   name, summary, options, defaults, states(), problem() where there is one: see OptimizerEntry
//   step<Real>(options, now, run): calls run(step) with a function object step(elements, i), which
//     updates element i
// and, if it looks at whole parameters,
//   OfSlot<Real>, of_slot(options, now, norms): what differs between parameters; step(elements, i,
//     of_slot) gets it
//   direct(options, now) where there is one: a function object of the same form, which turns
//     gradients into directions before they are measured.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>

#include "trainer/optimizers/optimizer.hpp"

namespace dllaunch {

/// Pointers into the arenas at the first element to update.
template <typename Real>
struct Elements {
  Real* weights;
  Real* gradients;
  Real* first;  // states, in the optimiser's order; nullptr: absent
  Real* second;
  Real* third;
};

/// A parameter's norms, for an optimiser that measures.
struct SlotNorms {
  bool one_dimensional = false;  // a bias or a batch-norm parameter
  double weights = 0;
  double gradients = 0;
};

/// Never rounds to zero in `Real`: in a slot's padding, 0 / (0 + eps) must be zero.
template <typename Real>
Real eps_of(const OptimizerOptions& options) {
  return std::max(static_cast<Real>(options.eps), std::numeric_limits<Real>::min());
}

template <typename Optimizer>
concept Measures = requires(SlotNorms norms) {
  Optimizer::template of_slot<float>(OptimizerOptions{}, StepInfo{}, norms);
};
template <typename Optimizer>
concept Directs = requires {
  Optimizer::template direct<float>(OptimizerOptions{}, StepInfo{});
};
template <typename Optimizer>
concept HasProblem = requires {
  Optimizer::problem(OptimizerOptions{});
};

}  // namespace dllaunch
