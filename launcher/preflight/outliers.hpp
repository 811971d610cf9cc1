// One figure of many nodes or devices, and which of them stands out.
#pragma once

#include <string>
#include <vector>

namespace dllaunch {

/// 0 of none; of an even number the lower of the two in the middle is as good as any.
double median_of(std::vector<double> values);

struct Slowness {
  double usual = 0;  // the median of the others; 0: nobody to compare with
  double share = 1;  // of the usual
};

/// `values[which]` beside the median of all others.
Slowness slowness_of(const std::vector<double>& values, std::size_t which);

}  // namespace dllaunch
