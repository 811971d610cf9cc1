// Finds outliers among one figure of many nodes or devices.
#pragma once

#include <string>
#include <vector>

namespace dllaunch {

/// Returns 0 for an empty list, and the lower middle value for an even count.
double median_of(std::vector<double> values);

struct Slowness {
  double usual = 0;  // median of the others; 0: there are none
  double share = 1;  // value / usual
};

/// Compares `values[which]` with the median of all others.
Slowness slowness_of(const std::vector<double>& values, std::size_t which);

}  // namespace dllaunch
