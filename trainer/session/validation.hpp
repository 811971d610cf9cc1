// How good the network is on images it was not trained on.
#pragma once

#include <vector>

#include "support/result.hpp"
#include "trainer/metrics/metrics.hpp"
#include "trainer/metrics/regression_metrics.hpp"
#include "trainer/reports/events.hpp"
#include "trainer/session/session.hpp"

namespace dllaunch {

struct Validation {
  double loss = 0;                  // mean over all good images
  std::int64_t images = 0;          // those
  Metrics metrics;                  // of classes, and of sets of them
  RegressionMetrics errors = {};    // of real numbers
  std::vector<Error> skipped = {};  // of this rank: why an image was left out, one each
};

/// Collective: over every good validation image exactly once, the same on all ranks. An Error is
/// the data set's, on all ranks, as agree() tells. Averages the network's buffers over ranks.
Result<Validation> validate(const Session& session, Communicator& communicator);

/// What it says of the session's network, under its names in the event.
void tell(const Validation& measured, TargetKind judged, EpochEvent& event);

}  // namespace dllaunch
