// Evaluates the network on validation images.
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
  std::int64_t images = 0;          // number of good images
  Metrics metrics;                  // for classes and sets of classes
  std::int64_t tokens = 0;          // if these are predicted: their number
  std::int64_t tokens_right = 0;    // and how many of them were right
  RegressionMetrics errors = {};    // for real numbers
  std::vector<Error> skipped = {};  // on this rank: one Error for each skipped image
};

/// Collective. Evaluates every good validation image exactly once; all ranks return the same
/// result. Errors are the data set's, on all ranks like agree(). Averages the network's buffers
/// over ranks. With ema.validate, measures the average of the weights.
Result<Validation> validate(const Session& session, Communicator& communicator);

/// Stores the metrics of `measured` in the event.
void tell(const Validation& measured, TargetKind judged, EpochEvent& event);

}  // namespace dllaunch
