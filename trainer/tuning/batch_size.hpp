// The largest batch whose training step fits into memory, found by trying (`batch_size: auto`).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "runtime/communicators/communicator.hpp"
#include "support/result.hpp"
#include "trainer/session/session.hpp"

namespace dllaunch {

struct BatchTrial {
  int images = 0;
  std::int64_t bytes = 0;   // more than before the first trial
  double images_per_s = 0;  // of a whole step of one rank, without the exchange; 0: not tried
};

/// What a batch of `images` will take if memory grows as from the last trial but one to the last;
/// nullopt: fewer than two trials.
std::optional<std::int64_t> predict_bytes(const std::vector<BatchTrial>& trials, int images);

/// What was tried, a line each, and what came of it. `trials` holds at least one that fits.
std::vector<std::string> batch_table(const std::vector<BatchTrial>& trials, std::int64_t budget,
                                     int chosen, const std::string& why_not_more);

struct BatchSearch {
  std::int64_t budget = 0;     // bytes a rank may take
  double longest_step_s = 20;  // no trial that is expected to take longer
};

/// Collective: 1, 2, 4 ... images, each with whole steps on images of the data set (loader,
/// forward, backward, optimiser), while they fit on every rank and an epoch is at least one step.
/// `session` has its data, model and shape; all ranks return the same. Rank 0 says the table.
/// nullopt: a rank was asked to stop.
///
/// unsatisfiable: not even one image fits. Other errors: of the data set and the backend.
Result<std::optional<int>> find_batch_size(const Session& session, const BatchSearch& search,
                                           Communicator& communicator,
                                           const PrepareOptions& options);

}  // namespace dllaunch
