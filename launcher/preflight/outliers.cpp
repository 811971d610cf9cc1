#include "launcher/preflight/outliers.hpp"

#include <algorithm>

namespace dllaunch {

double median_of(std::vector<double> values) {
  if (values.empty()) return 0;
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>((values.size() - 1) / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

Slowness slowness_of(const std::vector<double>& values, std::size_t which) {
  auto others = values;
  others.erase(others.begin() + static_cast<std::ptrdiff_t>(which));
  const double usual = median_of(std::move(others));
  if (usual <= 0) return {};
  return {usual, values[which] / usual};
}

}  // namespace dllaunch
