// The loss of a classifier: -log softmax(outputs)[label], PyTorch's CrossEntropyLoss.
#pragma once

#include <cmath>

#include "trainer/losses/rows.hpp"

namespace dllaunch {

/// With label_smoothing e the target is 1 - e for the label, plus e / outputs for every class
/// (Szegedy et al. 2016, section 7). The gradient is softmax(outputs) - target.
struct SoftmaxCrossEntropy {
  static constexpr std::string_view name = "softmax_cross_entropy";
  static constexpr std::string_view summary =
      "one class per image: mean of -log softmax(outputs)[label]";
  static constexpr TargetKind targets[] = {TargetKind::class_index};
  static constexpr bool smooths = true;

  /// Subtracts the largest output (log-sum-exp), so that exp() cannot overflow.
  template <typename Real>
  static constexpr LossRow<Real> row(const OutputRow<Real>& y) {
    Real largest = y[0];
    for (std::int64_t k = 1; k < y.width; ++k) {
      if (y[k] > largest) largest = y[k];
    }
    const Real share = y.smoothing / static_cast<Real>(y.width);
    double sum = 0;
    double fit = (1 - y.smoothing) * (y[y.label] - largest);
    for (std::int64_t k = 0; k < y.width; ++k) {
      sum += std::exp(y[k] - largest);
      if (share > 0) fit += share * (y[k] - largest);
    }
    return {.loss = std::log(sum) - fit,
            .sum = static_cast<Real>(sum),
            .largest = largest,
            .correct = y.has_label_largest()};
  }

  template <typename Real>
  static constexpr Real grad(const OutputRow<Real>& y, const LossRow<Real>& row, std::int64_t k) {
    const Real share = y.smoothing / static_cast<Real>(y.width);
    const Real grad = std::exp(y[k] - row.largest) / row.sum - share;
    return k == y.label ? grad - (1 - y.smoothing) : grad;
  }
};

}  // namespace dllaunch
