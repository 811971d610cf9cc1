// What the file of a loss must define. The same code runs on a CPU, all in double, and in GPU
// kernels, in float. It is therefore constexpr (nvcc --expt-relaxed-constexpr, clang) and must not
// depend on the order of calls.
//
// A loss is a struct with
//   name, summary, targets, smooths: see LossEntry
//   add(sums, outputs, largest, k): adds what output k contributes; `largest` is that of the row
//   row(outputs, largest, sums): returns the LossRow of a row
//   grad(outputs, row, k): returns d(row's loss)/d(output k); `row` is the result of row()
#pragma once

#include <cstdint>
#include <limits>

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
  /// Whether output k is finite and leaves the label's the first of the largest. If all do, the row
  /// is correct.
  constexpr bool yields_to_label(std::int64_t k) const {
    const Real x = outputs[k];
    return x - x == 0 && (k < label ? x < outputs[label] : x <= outputs[label]);
  }
};

template <typename Real>
constexpr OutputRow<Real> output_row(const Real* outputs, std::int64_t width,
                                     const RowTargets& targets, std::int64_t row, Real smoothing) {
  return {outputs + row * width, width, targets.values == nullptr ? targets.labels[row] : -1,
          targets.values == nullptr ? nullptr : targets.values + row * width, smoothing};
}

/// A share of a row's outputs: first, first + step, ... One thread of a GPU computes one.
struct Lane {
  std::int64_t first = 0;
  std::int64_t step = 1;
};

/// What outputs contribute to a row. Start with {0, 0, true}.
template <typename Real>
struct LossSums {
  Real sum;      // of a term per output
  Real fit;      // softmax only: of target * (output - largest)
  bool correct;  // none contradicts
};

/// Ignores NaN; -infinity: a lane without outputs.
template <typename Real>
constexpr Real largest_of(const OutputRow<Real>& y, const Lane& lane) {
  Real largest = -std::numeric_limits<Real>::infinity();
  for (std::int64_t k = lane.first; k < y.width; k += lane.step) {
    if (y[k] > largest) largest = y[k];
  }
  return largest;
}

/// Adds up a lane in Real. Lanes are joined in double.
template <typename Loss, typename Real>
constexpr LossSums<double> sums_of(const OutputRow<Real>& y, Real largest, const Lane& lane) {
  LossSums<Real> sums{0, 0, true};
  for (std::int64_t k = lane.first; k < y.width; k += lane.step) Loss::add(sums, y, largest, k);
  return {sums.sum, sums.fit, sums.correct};
}

}  // namespace dllaunch
