#include "trainer/data/sampler.hpp"

#include <algorithm>
#include <cassert>
#include <numeric>
#include <utility>

#include "support/random.hpp"

namespace dllaunch {
namespace {

/// Returns the first of [0, count) in part `index` of `parts`. Parts differ by at most one. Avoids
/// the product count * index, which could overflow.
std::int64_t part_begin(std::int64_t count, int parts, int index) {
  return count / parts * index + count % parts * index / parts;
}

void cut(std::int64_t begin, std::int64_t end, int largest, std::vector<Slice>& slices) {
  for (; begin < end; begin += largest) {
    slices.push_back({begin, static_cast<int>(std::min<std::int64_t>(largest, end - begin))});
  }
}

std::int64_t pieces(std::int64_t count, std::int64_t size) {
  return (count + size - 1) / size;
}

/// The step's micro-batches are those of its images, not of its ranks.
std::vector<Slice> deal_batches(std::int64_t count, const StepShape& shape, std::int64_t position,
                                int rank) {
  const auto batches = static_cast<int>(pieces(shape.images, shape.batch_size));
  const auto last = static_cast<int>(part_begin(batches, shape.ranks, rank + 1));
  std::vector<Slice> slices;
  for (auto i = static_cast<int>(part_begin(batches, shape.ranks, rank)); i < last; ++i) {
    const std::int64_t begin = part_begin(count, batches, i);
    const auto images = static_cast<int>(part_begin(count, batches, i + 1) - begin);
    if (images > 0) slices.push_back({position + begin, images});
  }
  const auto least =
      static_cast<std::size_t>(shape.in_step ? pieces(batches, shape.ranks) : std::int64_t{1});
  while (slices.size() < least) slices.push_back({position + part_begin(count, batches, last), 0});
  return slices;
}

}  // namespace

std::vector<std::int64_t> epoch_order(std::uint64_t seed, std::int64_t epoch, std::int64_t images) {
  std::vector<std::int64_t> order(static_cast<std::size_t>(images));
  std::iota(order.begin(), order.end(), 0);
  const std::uint64_t key =
      random_bits(random_key(seed, "epoch order"), static_cast<std::uint64_t>(epoch));
  for (std::size_t i = order.size(); i > 1; --i) {
    std::swap(order[i - 1], order[random_below(random_bits(key, i), i)]);
  }
  return order;
}

std::int64_t steps_per_epoch(std::int64_t images, const StepShape& shape) {
  return pieces(images, shape.global_batch());
}

std::int64_t step_images(std::int64_t images, const StepShape& shape, std::int64_t position) {
  return std::clamp<std::int64_t>(images - position, 0, shape.global_batch());
}

std::vector<Slice> deal_step(std::int64_t images, const StepShape& shape, std::int64_t position,
                             int rank) {
  assert(rank >= 0 && rank < shape.ranks);
  const std::int64_t count = step_images(images, shape, position);
  if (shape.images > 0 && shape.same_batches) return deal_batches(count, shape, position, rank);
  const std::int64_t begin = position + part_begin(count, shape.ranks, rank);
  const std::int64_t end = position + part_begin(count, shape.ranks, rank + 1);
  const std::int64_t largest_share = pieces(count, shape.ranks);
  const std::int64_t batches = pieces(largest_share, shape.batch_size);
  const bool alike = shape.images > 0 && shape.in_step && batches > 0;
  std::vector<Slice> slices;
  cut(begin, end, alike ? static_cast<int>(pieces(largest_share, batches)) : shape.batch_size,
      slices);
  const auto least = static_cast<std::size_t>(shape.in_step ? std::max<std::int64_t>(batches, 1)
                                                            : std::int64_t{1});
  while (slices.size() < least) slices.push_back({end, 0});
  return slices;
}

std::vector<Slice> deal_epoch(std::int64_t images, const StepShape& shape, std::int64_t position,
                              int rank) {
  std::vector<Slice> slices;
  for (; position < images; position += shape.global_batch()) {
    const auto step = deal_step(images, shape, position, rank);
    slices.insert(slices.end(), step.begin(), step.end());
  }
  return slices;
}

std::vector<Slice> deal_validation(std::int64_t images, const StepShape& shape, int rank) {
  std::vector<Slice> slices;
  const std::int64_t end = part_begin(images, shape.ranks, rank + 1);
  cut(part_begin(images, shape.ranks, rank), end, shape.batch_size, slices);
  const std::int64_t most = pieces(pieces(images, shape.ranks), shape.batch_size);
  while (shape.in_step && std::ssize(slices) < most) slices.push_back({end, 0});
  return slices;
}

}  // namespace dllaunch
