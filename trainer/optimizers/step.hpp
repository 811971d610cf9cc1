// What the file of an optimiser must define. The same code runs on a CPU and in GPU kernels: an
// operator() updates one element, is constexpr (nvcc --expt-relaxed-constexpr, clang), and must not
// depend on the order of elements.
//
// An optimiser is a struct with
//   name, summary, options, defaults, states() and optionally problem(): see OptimizerEntry
//   step<Real>(options, now, run): calls run(step) with a functor; step(elements, i) updates
//     element i
// and, if it uses norms of whole parameters,
//   OfSlot<Real>, of_slot(options, now, norms): coefficients of one parameter, which then are the
//     third argument of step(elements, i, of_slot)
//   direct(options, now), optional: a functor of the same form that replaces gradients by update
//     directions before they are measured. It updates the states and leaves the weights; the step
//     then uses no states.
// A step writes weights and states alone.
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

/// Returns eps, at least the smallest normal `Real`: in a slot's padding, 0 / (0 + eps) must be
/// zero.
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
