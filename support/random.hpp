// Random numbers as a function of (key, counter), and a hash of texts: identical on every rank,
// machine and thread.
#pragma once

#include <cstdint>
#include <string_view>

namespace dllaunch {

/// The finalizer of splitmix64 (Steele, Lea, Flood 2014): a bijection in which every output bit
/// depends on every input bit.
constexpr std::uint64_t mix_bits(std::uint64_t x) {
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

/// splitmix64 with random access: number `counter` of the sequence that starts at `key`.
constexpr std::uint64_t random_bits(std::uint64_t key, std::uint64_t counter) {
  return mix_bits(key + (counter + 1) * 0x9e3779b97f4a7c15u);
}

/// FNV-1a: the same on every machine and in every version, unlike std::hash.
constexpr std::uint64_t stable_hash(std::string_view text) {
  std::uint64_t hash = 0xcbf29ce484222325u;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
  return hash;
}
static_assert(stable_hash("foobar") == 0x85944171f73967e8u);  // of its authors' test vectors

/// Returns a key for (seed, purpose). Sequences of different keys are independent.
constexpr std::uint64_t random_key(std::uint64_t seed, std::string_view purpose) {
  return random_bits(mix_bits(seed), stable_hash(purpose));
}

/// 0 .. bound-1: the upper half of bits * bound. The bias is below bound / 2^64.
constexpr std::uint64_t random_below(std::uint64_t bits, std::uint64_t bound) {
  const std::uint64_t bits_low = bits & 0xffffffffu;
  const std::uint64_t bits_high = bits >> 32;
  const std::uint64_t bound_low = bound & 0xffffffffu;
  const std::uint64_t bound_high = bound >> 32;
  const std::uint64_t low = bits_low * bound_low;
  const std::uint64_t middle = bits_high * bound_low + (low >> 32);
  const std::uint64_t carry = bits_low * bound_high + (middle & 0xffffffffu);
  return bits_high * bound_high + (middle >> 32) + (carry >> 32);
}

/// [0, 1) in steps of 2^-53.
constexpr double random_unit(std::uint64_t bits) {
  return static_cast<double>(bits >> 11) * 0x1.0p-53;
}

}  // namespace dllaunch
