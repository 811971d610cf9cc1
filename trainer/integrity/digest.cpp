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
  constexpr std::size_t lanes = 8;
  struct Sums {
    std::array<std::uint64_t, lanes> words = {};
    std::array<std::uint64_t, lanes> sums = {};
    std::array<std::byte, lanes * sizeof(std::uint64_t)> rest = {};
  } all;
  constexpr std::size_t row = sizeof all.words;
  std::size_t at = 0;
  for (; at + row <= memory.size(); at += row) {
    std::array<std::uint64_t, lanes> word;
    std::memcpy(word.data(), memory.data() + at, row);
    for (std::size_t i = 0; i < lanes; ++i) all.words[i] += word[i];
    for (std::size_t i = 0; i < lanes; ++i) all.sums[i] += all.words[i];
  }
  if (at < memory.size()) std::memcpy(all.rest.data(), memory.data() + at, memory.size() - at);
  return XXH3_64bits_withSeed(&all, sizeof all, seed);
}

}  // namespace dllaunch
