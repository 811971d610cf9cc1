#include "trainer/pipeline/schedule.hpp"

namespace dllaunch {

std::vector<Pass> one_forward_one_backward(const StagePlace& place, int micro_batches) {
  const int ahead = most_in_flight(place, micro_batches) - 1;
  std::vector<Pass> passes;
  for (int i = 0; i < micro_batches + ahead; ++i) {
    if (i < micro_batches) passes.push_back({.forward = true, .micro_batch = i});
    if (i >= ahead) passes.push_back({.forward = false, .micro_batch = i - ahead});
  }
  return passes;
}

}  // namespace dllaunch
