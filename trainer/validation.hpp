// How good the network is on images it was not trained on.
#pragma once

#include "topology/result.hpp"
#include "trainer/metrics.hpp"
#include "trainer/session.hpp"

namespace dllaunch {

struct Validation {
  double loss = 0;  // mean over all images
  Metrics metrics;
};

/// Collective: over every validation image exactly once, the same on all ranks. An Error is the
/// data set's, on all ranks, as agree() tells.
Result<Validation> validate(const Session& session, Communicator& communicator);

}  // namespace dllaunch
