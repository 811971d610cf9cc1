// The loss of regression: PyTorch's MSELoss. A label is a one-hot target.
#pragma once

#include "trainer/losses/rows.hpp"

namespace dllaunch {

struct MeanSquaredError {
  static constexpr std::string_view name = "mean_squared_error";
  static constexpr std::string_view summary =
      "mean over images and outputs of (output - target)^2; for classes the target is 1 for the "
      "class, else 0";
  static constexpr TargetKind targets[] = {TargetKind::class_index, TargetKind::class_set,
                                           TargetKind::values};
  static constexpr bool smooths = false;

  template <typename Real>
  static constexpr void add(LossSums<Real>& sums, const OutputRow<Real>& y, Real, std::int64_t k) {
    const Real error = y[k] - y.target(k);
    sums.sum += error * error;
    sums.correct = sums.correct && y.values == nullptr && y.yields_to_label(k);
  }

  template <typename Real>
  static constexpr LossRow<Real> row(const OutputRow<Real>& y, Real, const LossSums<double>& sums) {
    return {.loss = sums.sum / static_cast<double>(y.width), .correct = sums.correct};
  }

  template <typename Real>
  static constexpr Real grad(const OutputRow<Real>& y, const LossRow<Real>&, std::int64_t k) {
    return 2 * (y[k] - y.target(k)) / static_cast<Real>(y.width);
  }
};

}  // namespace dllaunch
