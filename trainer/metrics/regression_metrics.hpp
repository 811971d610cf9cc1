// How far outputs are from the values they should have.
#pragma once

#include <array>
#include <optional>
#include <span>

#include "runtime/communicators/communicator.hpp"

namespace dllaunch {

/// Sums over images in double: of several ranks the last bits depend on how images are shared.
class RegressionMetrics {
 public:
  /// outputs and targets [images, width].
  void add(std::span<const double> outputs, std::span<const float> targets);

  /// Collective: every rank ends with the sums over all of them.
  void sum_over_ranks(Communicator& communicator);

  /// Means over images and outputs. Absent without images.
  std::optional<double> mean_absolute_error() const;
  std::optional<double> mean_squared_error() const;

 private:
  std::array<double, 3> sums_{};  // numbers, absolute errors, squared errors
};

}  // namespace dllaunch
