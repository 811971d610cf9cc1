#include "trainer/integrity/digest.hpp"

#include <xxhash.h>

#include <array>
#include <cstring>
#include <new>

namespace dllaunch {

Hash64::Hash64() : state_(XXH3_createState()) {
  if (state_ == nullptr) throw std::bad_alloc();
  XXH3_64bits_reset(state_.get());
}

void Hash64::Free::operator()(XXH3_state_s* state) const {
  XXH3_freeState(state);
}

void Hash64::add(std::span<const std::byte> piece) {
  XXH3_64bits_update(state_.get(), piece.data(), piece.size());
}

std::uint64_t Hash64::value() const {
  return XXH3_64bits_digest(state_.get());
}

std::uint64_t quick_hash(std::span<const std::byte> memory, std::uint64_t seed) {
  using Lanes [[gnu::vector_size(64)]] = std::uint64_t;
  Lanes words = {};
  Lanes sums = {};
  std::size_t at = 0;
  for (; at + sizeof(Lanes) <= memory.size(); at += sizeof(Lanes)) {
    Lanes word;
    std::memcpy(&word, memory.data() + at, sizeof word);
    words += word;
    sums += words;
  }
  std::array<std::byte, 3 * sizeof(Lanes)> all = {};
  std::memcpy(all.data(), &words, sizeof words);
  std::memcpy(all.data() + sizeof words, &sums, sizeof sums);
  if (at < memory.size()) {
    std::memcpy(all.data() + 2 * sizeof words, memory.data() + at, memory.size() - at);
  }
  return XXH3_64bits_withSeed(all.data(), all.size(), seed);
}

}  // namespace dllaunch
