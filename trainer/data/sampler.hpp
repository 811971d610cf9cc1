// Which images each rank sees in each step: pure functions of (seed, epoch, rank, size).
#pragma once

#include <cstdint>
#include <vector>

namespace dllaunch {

/// How a step is cut into pieces.
struct StepShape {
  int ranks = 1;
  int batch_size = 1;    // images of a micro-batch at most
  int accumulate = 1;    // micro-batches of a rank at most
  bool in_step = false;  // all ranks have as many micro-batches, some of which may be empty

  std::int64_t global_batch() const {
    return std::int64_t{ranks} * std::int64_t{batch_size} * std::int64_t{accumulate};
  }
};

/// Positions [begin, begin + count) of an epoch's order.
struct Slice {
  std::int64_t begin = 0;
  int count = 0;
};

/// The order in which an epoch visits the images 0 .. images-1: a permutation by Fisher and Yates
/// with random.hpp's numbers, the same on every machine.
std::vector<std::int64_t> epoch_order(std::uint64_t seed, std::int64_t epoch, std::int64_t images);

/// Steps of an epoch; the last one may be smaller than the others.
std::int64_t steps_per_epoch(std::int64_t images, const StepShape& shape);

/// Images of the step that starts at `position`, over all ranks.
std::int64_t step_images(std::int64_t images, const StepShape& shape, std::int64_t position);

/// The micro-batches of `rank` in that step: at least one, which may be empty; with `in_step` as
/// many as the rank with the largest share has.
///
/// A step covers the next global_batch() positions, rank after rank; so which images it holds does
/// not depend on how ranks, batch_size and accumulate make up their product. A last, smaller step
/// is dealt as evenly as possible: shares differ by at most one image.
std::vector<Slice> deal_step(std::int64_t images, const StepShape& shape, std::int64_t position,
                             int rank);

/// The micro-batches of `rank` in all steps from `position` to the end of the epoch.
std::vector<Slice> deal_epoch(std::int64_t images, const StepShape& shape, std::int64_t position,
                              int rank);

/// The batches of `rank` in a validation over `images` images, each of them once over all ranks.
std::vector<Slice> deal_validation(std::int64_t images, const StepShape& shape, int rank);

}  // namespace dllaunch
