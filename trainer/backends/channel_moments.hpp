// Mean and variance of each channel, put together from those of several ranks.
#pragma once

#include <vector>

#include "trainer/backends/backend.hpp"

namespace dllaunch {

/// What a batch normalisation measures. Of no values at all: zeros.
struct ChannelMoments {
  double count = 0;             // values of a channel
  std::vector<double> mean;     // per channel
  std::vector<double> squares;  // per channel: the sum of squared distances from the mean
};

/// Those of all ranks' values; every rank ends with the same bits. One collective. Nothing happens
/// where `sum` is empty.
void allreduce_moments(ChannelMoments& moments, const SumOverRanks& sum);

}  // namespace dllaunch
