// How good the network is on images it was not trained on.
#pragma once

#include <vector>

#include "topology/result.hpp"
#include "trainer/metrics.hpp"
#include "trainer/session.hpp"

namespace dllaunch {

struct Validation {
  double loss = 0;  // mean over all good images
  Metrics metrics;
  std::vector<Error> skipped = {};  // of this rank: why an image was left out, one each
};

/// Collective: over every good validation image exactly once, the same on all ranks. An Error is
/// the data set's, on all ranks, as agree() tells. Averages the network's buffers over ranks.
Result<Validation> validate(const Session& session, Communicator& communicator);

}  // namespace dllaunch
