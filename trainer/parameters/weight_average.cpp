// The exponential moving average of the weights, kept and sharded like an optimiser's state (Polyak
// and Juditsky 1992; Szegedy et al. 2016, section 8).
#include <algorithm>

#include "trainer/parameters/arena_visits.hpp"

namespace dllaunch {

void ParameterArenas::begin_average() {
  if (!average_decay_) return;
  const std::size_t size = bytes_of(layout_.type);
  for (const Own& own : own_parts()) {
    copy(average_at(own), weights_[0].bytes.data() + own.range.offset * size,
         own.range.elements * size);
  }
}

void ParameterArenas::average_own(const Own& own) {
  const double share = 1 - *average_decay_;
  if (device_optimizer_ != nullptr) {
    visit_runs(own, [&](const ArenaPart& part, const Own& run) {
      device_optimizer_->move_towards(part, average_at(run), share);
    });
    return;
  }
  struct Part {
    std::size_t elements;
    void* average;
    void* weights;
  };
  constexpr std::size_t largest = std::size_t{1} << 16;  // elements
  const std::size_t size = bytes_of(layout_.type);
  std::vector<Part> parts;
  visit_runs(own, [&](const ArenaPart& part, const Own& run) {
    for (std::size_t from = 0; from < part.elements; from += largest) {
      parts.push_back({std::min(largest, part.elements - from), average_at(run) + from * size,
                       static_cast<std::byte*>(part.weights) + from * size});
    }
  });
  executable_.parallel_for(static_cast<int>(parts.size()), [&](int index) {
    const Part& part = parts[static_cast<std::size_t>(index)];
    move_towards(layout_.type, part.average, part.weights, part.elements, share);
  });
}

void ParameterArenas::exchange_average() {
  if (!average_decay_) return;
  const std::size_t size = bytes_of(layout_.type);
  const auto own = own_parts();
  for (std::size_t i = 0; i < own.size(); ++i) {
    exchange(average_at(own[i]), weights_[0].bytes.data() + own[i].range.offset * size,
             own[i].range.elements * size);
    if (shard_) gather_weights(i, own[i]);
  }
  wait_for_weights();
}

void ParameterArenas::exchange(std::byte* one, std::byte* other, std::size_t bytes) const {
  if (device_ == nullptr) {
    std::swap_ranges(one, one + bytes, other);
    return;
  }
  constexpr std::size_t largest = std::size_t{16} << 20;  // of the device's memory, for a moment
  if (bytes == 0) return;
  const Memory between = allocate(std::min(bytes, largest));
  for (std::size_t from = 0; from < bytes; from += largest) {
    const std::size_t count = std::min(largest, bytes - from);
    copy(between.bytes.data(), one + from, count);
    copy(one + from, other + from, count);
    copy(other + from, between.bytes.data(), count);
  }
}

}  // namespace dllaunch
