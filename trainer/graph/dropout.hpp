// Which elements a dropout drops: a function of (key, element), the same on every backend.
#pragma once

#include <cstdint>
#include <string_view>

#include "support/random.hpp"

namespace dllaunch {

/// What the random numbers of a micro-batch follow from: nothing else, so a resumed run drops what
/// the run would have dropped that never stopped.
struct RandomPlace {
  std::uint64_t seed = 1;
  std::int64_t step = 0;  // since the beginning of the run
  int rank = 0;
  std::size_t micro_batch = 0;  // of the rank and step
};

constexpr std::uint64_t batch_key(const RandomPlace& place) {
  const std::uint64_t step =
      random_bits(random_key(place.seed, "step"), static_cast<std::uint64_t>(place.step));
  return random_bits(random_bits(step, static_cast<std::uint64_t>(place.rank)), place.micro_batch);
}

/// The mask of one layer in one micro-batch. Elements are counted in plain order, over all images.
class DropoutMask {
 public:
  /// 0 <= rate < 1: the part that is dropped.
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
