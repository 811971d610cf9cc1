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
  static constexpr LossRow<Real> row(const OutputRow<Real>& y) {
    double squares = 0;
    for (std::int64_t k = 0; k < y.width; ++k) {
      const double error = y[k] - y.target(k);
      squares += error * error;
    }
    return {.loss = squares / static_cast<double>(y.width),
            .correct = y.values == nullptr && y.has_label_largest()};
  }

  template <typename Real>
  static constexpr Real grad(const OutputRow<Real>& y, const LossRow<Real>&, std::int64_t k) {
    return 2 * (y[k] - y.target(k)) / static_cast<Real>(y.width);
  }
};

}  // namespace dllaunch
