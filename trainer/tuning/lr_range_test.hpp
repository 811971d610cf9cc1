// Learning rate range test (`optimizer.lr: auto`): Smith, "Cyclical Learning Rates for Training
// Neural Networks" (2017, arXiv 1506.01186), section 3.3.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "runtime/communicators/communicator.hpp"
#include "support/result.hpp"
#include "trainer/session/session.hpp"

namespace dllaunch {

struct RateTrial {
  double rate = 0;      // used in the step
  double loss = 0;      // before the step; mean over images of all ranks
  double smoothed = 0;  // moving mean of the losses so far
};

struct LrRangeTest {
  double lowest_rate = 1e-6;  // rate of the first step; grows exponentially
  double highest_rate = 10;
  int steps = 100;
};

/// Returns the rate of step `step`, 0 .. steps-1.
double test_rate(const LrRangeTest& test, int step);

/// Adds a trial. Returns false if the test is over: the loss is not finite, or its moving mean is
/// four times its minimum.
bool add_trial(std::vector<RateTrial>& trials, double rate, double loss);

/// Returns the smaller of two rates, rounded to two digits: the one where the smoothed loss falls
/// fastest, and a tenth of the one with the lowest smoothed loss. (The latter alone is far too high
/// if the network memorises all images during the test.) nullopt: no rate reduced the loss by one
/// percent.
std::optional<double> choose_rate(const std::vector<RateTrial>& trials);

/// Returns some of the trials, one per line, and the result.
std::vector<std::string> rate_table(const std::vector<RateTrial>& trials, double chosen);

/// Collective. Trains with rising rates from the current weights; overwrites weights, optimiser
/// state and buffers. All ranks return the same rate, valid for a step of the whole global batch.
/// Rank 0 logs progress and the table. nullopt: a rank was asked to stop.
///
/// unsatisfiable: no rate reduced the loss. Other errors are the data set's.
Result<std::optional<double>> find_rate(Session& session, const LrRangeTest& test,
                                        Communicator& communicator, const PrepareOptions& options);

}  // namespace dllaunch
