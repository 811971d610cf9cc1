// Each output is an independent yes/no decision: PyTorch's BCEWithLogitsLoss.
#pragma once

#include <cmath>

#include "trainer/losses/rows.hpp"

namespace dllaunch {

/// For an output x with target t: -t log s(x) - (1 - t) log(1 - s(x)), where s is the logistic
/// function, in a form in which exp() cannot overflow. Its gradient is s(x) - t.
/// label_smoothing e replaces t by (1 - e) t + e / 2, as Keras does.
struct SigmoidCrossEntropy {
  static constexpr std::string_view name = "sigmoid_cross_entropy";
  static constexpr std::string_view summary =
      "any number of classes per image: mean over images and classes of the cross-entropy "
      "of each class with sigmoid(output)";
  static constexpr TargetKind targets[] = {TargetKind::class_index, TargetKind::class_set};
  static constexpr bool smooths = true;

  template <typename Real>
  static constexpr Real smoothed(const OutputRow<Real>& y, std::int64_t k) {
    return (1 - y.smoothing) * y.target(k) + y.smoothing / 2;
  }

  /// Correct if the label's output is the largest, or if exactly the outputs with target 1 are
  /// above 0 (probability above one half).
  template <typename Real>
  static constexpr void add(LossSums<Real>& sums, const OutputRow<Real>& y, Real, std::int64_t k) {
    const Real x = y[k];
    const Real e = std::exp(x < 0 ? x : -x);
    sums.sum += (x < 0 ? 0 : x) - x * smoothed(y, k) + std::log1p(e);
    const bool agrees =
        y.values == nullptr ? y.yields_to_label(k) : x == x && (x > 0) == (y.target(k) > Real(0.5));
    sums.correct = sums.correct && agrees;
  }

  template <typename Real>
  static constexpr LossRow<Real> row(const OutputRow<Real>& y, Real, const LossSums<double>& sums) {
    return {.loss = sums.sum / static_cast<double>(y.width), .correct = sums.correct};
  }

  template <typename Real>
  static constexpr Real grad(const OutputRow<Real>& y, const LossRow<Real>&, std::int64_t k) {
    const Real x = y[k];
    const Real e = std::exp(x < 0 ? x : -x);
    return ((x < 0 ? e : 1) / (1 + e) - smoothed(y, k)) / static_cast<Real>(y.width);
  }
};

}  // namespace dllaunch
