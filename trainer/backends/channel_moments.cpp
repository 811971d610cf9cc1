#include "trainer/backends/channel_moments.hpp"

#include <algorithm>
#include <cassert>
#include <cstddef>

namespace dllaunch {

void allreduce_moments(ChannelMoments& moments, const SumOverRanks& sum) {
  if (!sum) return;
  const std::size_t channels = moments.mean.size();
  assert(moments.squares.size() == channels);
  // The variance from sums of x and x^2 has a relative error of about (mean / deviation)^2 ulps of
  // double: less than the rounding of the float inputs.
  std::vector<double> sums(1 + 2 * channels);
  sums[0] = moments.count;
  for (std::size_t c = 0; c < channels && moments.count > 0; ++c) {
    const double mean = moments.mean[c];
    sums[1 + c] = moments.count * mean;
    sums[1 + channels + c] = moments.squares[c] + moments.count * mean * mean;
  }
  sum(sums);
  moments.count = sums[0];
  if (moments.count == 0) return;
  for (std::size_t c = 0; c < channels; ++c) {
    const double mean = sums[1 + c] / moments.count;
    const double squares = sums[1 + channels + c] - moments.count * mean * mean;
    moments.mean[c] = mean;
    moments.squares[c] = squares < 0 ? 0 : squares;  // keeps NaN
  }
}

}  // namespace dllaunch
