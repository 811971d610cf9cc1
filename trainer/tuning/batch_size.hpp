// Finds the largest batch whose training step fits into memory (`batch_size: auto`).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "runtime/communicators/communicator.hpp"
#include "support/result.hpp"
#include "trainer/session/session.hpp"

namespace dllaunch {

/// GPU memory, in bytes, that a batch must leave free after trials that have recorded graphs: for
/// graphs of other bucket sizes and of the evaluation, and, if GPUs reduce, for the buffers of
/// connections that NCCL makes later (4 MiB a channel, 32 channels, to two neighbours).
constexpr std::int64_t gpu_margin(bool gpus_reduce) {
  constexpr std::int64_t mib = std::int64_t{1} << 20;
  return 64 * mib + (gpus_reduce ? 256 * mib : 0);
}

struct BatchTrial {
  int images = 0;
  std::int64_t bytes = 0;      // growth since before the first trial
  double images_per_s = 0;     // of a whole step of one rank without the reduction; 0: not tried
  std::int64_t gpu_short = 0;  // bytes of gpu_margin() that were not free; 0: they were
};

/// Extrapolates the memory of a batch of `images` linearly from the last two trials. nullopt with
/// fewer than two.
std::optional<std::int64_t> predict_bytes(const std::vector<BatchTrial>& trials, int images);

/// Returns the trials, one per line, and the result. At least one of `trials` must fit.
std::vector<std::string> batch_table(const std::vector<BatchTrial>& trials, std::int64_t budget,
                                     int chosen, const std::string& why_not_more);

struct BatchSearch {
  std::int64_t budget = 0;     // memory available to a rank
  double longest_step_s = 20;  // skip trials expected to take longer
};

/// Collective. Tries 1, 2, 4 ... images, with whole steps on images of the data set (loader,
/// forward, backward, optimiser), while they fit on every rank and an epoch has at least one step.
/// Needs a session with data, model and shape. All ranks return the same number; rank 0 logs the
/// table. nullopt: a rank was asked to stop.
///
/// unsatisfiable: not even one image fits. Other errors come from the data set or the backend.
Result<std::optional<int>> find_batch_size(const Session& session, const BatchSearch& search,
                                           Communicator& communicator,
                                           const PrepareOptions& options);

}  // namespace dllaunch
