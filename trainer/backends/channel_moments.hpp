// Mean and variance per channel, combined over ranks.
#pragma once

#include <vector>

#include "trainer/backends/backend.hpp"

namespace dllaunch {

/// Statistics of a batch normalisation. All zero if there are no values.
struct ChannelMoments {
  double count = 0;             // values per channel
  std::vector<double> mean;     // per channel
  std::vector<double> squares;  // per channel: sum of squared deviations from the mean
};

/// Replaces a rank's moments by those of all ranks' values, bit-identical on every rank. One
/// collective. Does nothing if `sum` is empty.
void allreduce_moments(ChannelMoments& moments, const SumOverRanks& sum);

}  // namespace dllaunch
