// A learning rate found by trying: the range test of Smith, "Cyclical Learning Rates for Training
// Neural Networks" (2017, arXiv 1506.01186), section 3.3 (`optimizer.lr: auto`).
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "runtime/communicators/communicator.hpp"
#include "support/result.hpp"
#include "trainer/session/session.hpp"

namespace dllaunch {

struct RateTrial {
  double rate = 0;      // of the step
  double loss = 0;      // before the step; mean over images of all ranks
  double smoothed = 0;  // moving mean of it and of those before
};

struct LrRangeTest {
  double lowest_rate = 1e-6;  // of the first step; grows by the same factor from step to step
  double highest_rate = 10;
  int steps = 100;
};

/// Rate of step `step`, 0 .. steps-1.
double test_rate(const LrRangeTest& test, int step);

/// Adds a trial. False: the test is over, as the loss is not finite, or has grown to four times its
/// lowest.
bool add_trial(std::vector<RateTrial>& trials, double rate, double loss);

/// The smaller of two rates, rounded to two digits: the one at which the smoothed loss falls
/// fastest, and a tenth of the one with the lowest smoothed loss. (The second alone is far too high
/// where the network learns all images by heart meanwhile.) nullopt: no rate made the loss fall by
/// a hundredth.
std::optional<double> choose_rate(const std::vector<RateTrial>& trials);

/// What was tried, some lines, and what came of it.
std::vector<std::string> rate_table(const std::vector<RateTrial>& trials, double chosen);

/// Collective: trains with rising rates from the weights as they are, and spoils weights, optimiser
/// state and buffers. All ranks return the same rate, that of a step of the whole global batch.
/// Rank 0 says how far it is, and the table. nullopt: a rank was asked to stop.
///
/// unsatisfiable: no rate made the loss fall. Other errors: of the data set.
Result<std::optional<double>> find_rate(Session& session, const LrRangeTest& test,
                                        Communicator& communicator, const PrepareOptions& options);

}  // namespace dllaunch
