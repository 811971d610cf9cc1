// Mean absolute and mean squared error.
#pragma once

#include <array>
#include <optional>
#include <span>

#include "runtime/communicators/communicator.hpp"

namespace dllaunch {

/// Sums over images in double. The last bits depend on how images are distributed over ranks.
class RegressionMetrics {
 public:
  /// outputs and targets: [images, width].
  void add(std::span<const double> outputs, std::span<const float> targets);

  /// Collective. Every rank gets the sums over all ranks.
  void sum_over_ranks(Communicator& communicator);

  /// Mean over images and outputs. nullopt without images.
  std::optional<double> mean_absolute_error() const;
  std::optional<double> mean_squared_error() const;

 private:
  std::array<double, 3> sums_{};  // count, absolute errors, squared errors
};

}  // namespace dllaunch
