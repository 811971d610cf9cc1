// What the file of a loss must define. The same code runs on a CPU, all in double, and in GPU
// kernels, with outputs in float and sums in double. It is therefore constexpr (nvcc
// --expt-relaxed-constexpr, clang) and must not depend on the order of calls.
//
// A loss is a struct with
//   name, summary, targets, smooths: see LossEntry
//   row(outputs): returns the LossRow of a row
//   grad(outputs, row, k): returns d(row's loss)/d(output k); `row` is the result of row()
#pragma once

#include <cstdint>

#include "trainer/losses/loss.hpp"

namespace dllaunch {

/// Targets of the outputs; exactly one of the two is set.
struct RowTargets {
  const std::int32_t* labels;  // [rows]
  const float* values;         // [rows, outputs]
};

/// One row's loss, whether it is correct, and what its gradient needs.
template <typename Real>
struct LossRow {
  double loss;
  Real sum = 0;      // of exp(output - largest)
  Real largest = 0;  // of the outputs
  std::int32_t correct = 0;
};

/// A row of a network's outputs with its target.
template <typename Real>
struct OutputRow {
  const Real* outputs;
  std::int64_t width;
  std::int64_t label;   // -1: `values` are the target
  const float* values;  // nullptr: use the label
  Real smoothing;

  constexpr Real operator[](std::int64_t k) const { return outputs[k]; }
  /// Returns the target of output k; for a label, 1 if it is k, else 0.
  constexpr Real target(std::int64_t k) const {
    if (values != nullptr) return values[k];
    return label == k ? 1 : 0;
  }
  /// Whether the first of the largest outputs is the label's and all are finite.
  constexpr bool has_label_largest() const {
    std::int64_t best = 0;
    for (std::int64_t k = 0; k < width; ++k) {
      if (!(outputs[k] - outputs[k] == 0)) return false;
      if (outputs[k] > outputs[best]) best = k;
    }
    return best == label;
  }
};

template <typename Real>
constexpr OutputRow<Real> output_row(const Real* outputs, std::int64_t width,
                                     const RowTargets& targets, std::int64_t row, Real smoothing) {
  return {outputs + row * width, width, targets.values == nullptr ? targets.labels[row] : -1,
          targets.values == nullptr ? nullptr : targets.values + row * width, smoothing};
}

}  // namespace dllaunch
