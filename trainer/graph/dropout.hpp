// Dropout masks: a pure function of (key, element), the same on every backend.
#pragma once

#include <cstdint>
#include <string_view>

#include "support/random.hpp"

namespace dllaunch {

/// All that the random numbers of a micro-batch depend on. A resumed run therefore draws the same
/// masks as an uninterrupted one.
struct RngKey {
  std::uint64_t seed = 1;
  std::int64_t step = 0;  // since the start of the run
  int rank = 0;
  std::size_t micro_batch = 0;  // within the step, per rank
};

/// Returns the key of a micro-batch, for Batch::random.
constexpr std::uint64_t batch_key(const RngKey& place) {
  const std::uint64_t step =
      random_bits(random_key(place.seed, "step"), static_cast<std::uint64_t>(place.step));
  return random_bits(random_bits(step, static_cast<std::uint64_t>(place.rank)), place.micro_batch);
}

/// The mask of one layer in one micro-batch. Elements are numbered in plain order over all images.
class DropoutMask {
 public:
  /// rate: the fraction that is dropped, 0 <= rate < 1.
  constexpr DropoutMask(std::uint64_t batch_key, std::string_view layer, double rate)
      : key_(random_key(batch_key, layer)),
        dropped_below_(static_cast<std::uint64_t>(rate * 0x1p64)) {}

  constexpr bool keeps(std::uint64_t element) const {
    return random_bits(key_, element) >= dropped_below_;
  }

 private:
  std::uint64_t key_;
  std::uint64_t dropped_below_;
};

}  // namespace dllaunch
