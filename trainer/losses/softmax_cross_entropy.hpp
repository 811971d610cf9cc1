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
  static constexpr void add(LossSums<Real>& sums, const OutputRow<Real>& y, Real largest,
                            std::int64_t k) {
    const Real share = y.smoothing / static_cast<Real>(y.width);
    const Real away = y[k] - largest;
    sums.sum += std::exp(away);
    if (k == y.label) sums.fit += (1 - y.smoothing) * away;
    if (share > 0) sums.fit += share * away;
    sums.correct = sums.correct && y.yields_to_label(k);
  }

  template <typename Real>
  static constexpr LossRow<Real> row(const OutputRow<Real>&, Real largest,
                                     const LossSums<double>& sums) {
    return {.loss = std::log(sums.sum) - sums.fit,
            .sum = static_cast<Real>(sums.sum),
            .largest = largest,
            .correct = sums.correct};
  }

  template <typename Real>
  static constexpr Real grad(const OutputRow<Real>& y, const LossRow<Real>& row, std::int64_t k) {
    const Real share = y.smoothing / static_cast<Real>(y.width);
    const Real grad = std::exp(y[k] - row.largest) / row.sum - share;
    return k == y.label ? grad - (1 - y.smoothing) : grad;
  }
};

}  // namespace dllaunch
