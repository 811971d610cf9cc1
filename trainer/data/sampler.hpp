// Which images each rank sees in each step, as pure functions of (seed, epoch, rank, size).
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

namespace dllaunch {

/// How a step is divided between ranks and micro-batches.
struct StepShape {
  int ranks = 1;
  int batch_size = 1;       // largest micro-batch, images
  int accumulate = 1;       // micro-batches per rank, at most
  bool in_step = false;     // every rank has the same number of micro-batches, some possibly empty
  std::int64_t images = 0;  // per step, over all ranks; 0: as many as fit; else `accumulate` is not
                            // a bound
  /// With `images`: not only steps, but micro-batches too have the same images on any ranks, as
  /// statistics over a micro-batch require. Ranks differ by up to one of them.
  bool same_batches = false;

  std::int64_t global_batch() const { return images > 0 ? images : whole_rank() * ranks; }
  /// The ranks that would have such steps with full micro-batches, which a learning rate scales
  /// with: `ranks`, or what `images` is worth, at least 1.
  int worth_ranks() const {
    return images > 0 ? static_cast<int>(std::max(std::int64_t{1}, images / whole_rank())) : ranks;
  }

 private:
  std::int64_t whole_rank() const { return std::int64_t{batch_size} * std::int64_t{accumulate}; }
};

/// Positions [begin, begin + count) of an epoch's order.
struct Slice {
  std::int64_t begin = 0;
  int count = 0;
};

/// Returns the order in which an epoch visits images 0 .. images-1: a Fisher-Yates permutation with
/// the generator of random.hpp, identical on every machine.
std::vector<std::int64_t> epoch_order(std::uint64_t seed, std::int64_t epoch, std::int64_t images);

/// Returns the number of steps in an epoch. The last one may be smaller.
std::int64_t steps_per_epoch(std::int64_t images, const StepShape& shape);

/// Returns the images of the step that starts at `position`, over all ranks.
std::int64_t step_images(std::int64_t images, const StepShape& shape, std::int64_t position);

/// Returns the micro-batches of `rank` in that step: at least one, possibly empty; with `in_step`,
/// as many as the rank with the largest share has.
///
/// A step covers the next global_batch() positions, rank by rank, so its images do not depend on
/// the ranks if their product with batch_size and accumulate, or `images`, stays the same. A
/// smaller last step is divided evenly: shares differ by at most one image. With `images` and
/// `in_step`, the micro-batches of a rank are alike: statistics over all ranks' need many images.
std::vector<Slice> deal_step(std::int64_t images, const StepShape& shape, std::int64_t position,
                             int rank);

/// Returns the micro-batches of `rank` in all steps from `position` to the end of the epoch.
std::vector<Slice> deal_epoch(std::int64_t images, const StepShape& shape, std::int64_t position,
                              int rank);

/// Returns the batches of `rank` in a validation. The ranks together cover each image once; with
/// `in_step`, they have equally many batches.
std::vector<Slice> deal_validation(std::int64_t images, const StepShape& shape, int rank);

}  // namespace dllaunch
