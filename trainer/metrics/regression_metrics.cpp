#include "trainer/metrics/regression_metrics.hpp"

#include <cassert>
#include <cmath>

namespace dllaunch {

void RegressionMetrics::add(std::span<const double> outputs, std::span<const float> targets) {
  assert(outputs.size() == targets.size());
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    const double error = outputs[i] - static_cast<double>(targets[i]);
    sums_[1] += std::abs(error);
    sums_[2] += error * error;
  }
  sums_[0] += static_cast<double>(outputs.size());
}

void RegressionMetrics::sum_over_ranks(Communicator& communicator) {
  communicator.wait(communicator.all_reduce(sums_.data(), sums_.size(), DType::f64, ReduceOp::sum));
}

std::optional<double> RegressionMetrics::mean_absolute_error() const {
  if (sums_[0] == 0) return std::nullopt;
  return sums_[1] / sums_[0];
}

std::optional<double> RegressionMetrics::mean_squared_error() const {
  if (sums_[0] == 0) return std::nullopt;
  return sums_[2] / sums_[0];
}

}  // namespace dllaunch
