// What the replicas of a rank hold alike: its hashes, and a flipped bit for drills.
#include <algorithm>

#include "trainer/parameters/arena_visits.hpp"

namespace dllaunch {

/// Returns the gradients that are summed over ranks, as few runs as possible.
std::vector<ArenaRange> ParameterArenas::summed_gradients() const {
  std::vector<ArenaRange> runs;
  for (std::size_t slot = 0; slot < first_split_; ++slot) {
    if (!trained_[slot]) continue;
    const std::size_t behind = layout_.offset[slot] + layout_.elements[slot];
    if (slot == 0 || !trained_[slot - 1]) runs.push_back({layout_.offset[slot], 0});
    runs.back().elements = behind - runs.back().offset;
  }
  return runs;
}

/// Hashes host memory in place, a device's in pieces that are copied.
void ParameterArenas::add_to(Hash64& hash, std::span<const std::byte> memory) const {
  if (device_ == nullptr) return hash.add(memory);
  constexpr std::size_t largest = std::size_t{4} << 20;
  const Memory copied = allocate_on_host(std::min(largest, memory.size()));
  for (std::size_t from = 0; from < memory.size(); from += largest) {
    const std::size_t bytes = std::min(largest, memory.size() - from);
    copy(copied.bytes.data(), memory.data() + from, bytes);
    hash.add(copied.bytes.first(bytes));
  }
}

Digest ParameterArenas::digest(bool with_gradients) const {
  const std::size_t size = bytes_of(layout_.type);
  const std::size_t alike = (split() ? layout_.offset[first_split_] : layout_.total) * size;
  Digest digest;
  Hash64 weights;
  add_to(weights, weights_[0].bytes.first(alike));
  digest.weights = weights.value();
  if (shard_) return digest;
  Hash64 states;
  for (const Memory& state : states_) add_to(states, state.bytes.first(alike));
  digest.states = states.value();
  if (!with_gradients) return digest;
  Hash64 gradients;
  for (const auto [offset, elements] : summed_gradients()) {
    add_to(gradients, gradients_.bytes.subspan(offset * size, elements * size));
  }
  digest.gradients = gradients.value();
  return digest;
}

std::uint64_t ParameterArenas::quick_hash_of_gradient(int slot) const {
  const auto i = static_cast<std::size_t>(slot);
  const std::size_t size = bytes_of(layout_.type);
  return quick_hash(gradients_.bytes.subspan(layout_.offset[i] * size, layout_.elements[i] * size),
                    i);
}

void ParameterArenas::flip(ReplicaPart part, std::uint64_t bit) {
  std::span<std::byte> memory = weights_[0].bytes;
  if (part == ReplicaPart::gradients) memory = gradients_.bytes;
  if (part == ReplicaPart::states && !states_.empty()) {
    memory = states_[bit % states_.size()].bytes;
  }
  const std::size_t size = bytes_of(layout_.type);
  // Not in a gap, which is never used.
  const std::size_t elements = split() ? layout_.offset[first_split_] : layout_.total;
  std::size_t element = bit / (size * 8) % std::min(elements, memory.size() / size);
  const auto slot = std::ranges::upper_bound(layout_.offset, element) - layout_.offset.begin() - 1;
  const auto i = static_cast<std::size_t>(slot);
  element = std::min(element, layout_.offset[i] + layout_.elements[i] - 1);
  std::byte* const at = memory.data() + element * size + bit % (size * 8) / 8;
  std::byte value{};
  copy(&value, at, 1);
  value ^= std::byte{1} << static_cast<int>(bit % 8);
  copy(at, &value, 1);
}

}  // namespace dllaunch
