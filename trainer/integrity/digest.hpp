// Hashes of what replicas must hold alike. Knows no ranks and no arenas: memory, and 64 bits of it.
#pragma once

#include <cstdint>
#include <memory>
#include <span>

struct XXH3_state_s;

namespace dllaunch {

/// What a comparison of replicas tells apart.
enum class ReplicaPart : std::uint8_t { weights, states, gradients };

/// 64 bits of each part; 0: not compared.
struct Digest {
  std::uint64_t weights = 0;
  std::uint64_t states = 0;     // of the optimiser
  std::uint64_t gradients = 0;  // their sums over ranks

  bool operator==(const Digest&) const = default;
};

/// XXH3 of pieces of memory, one after the other, as if they were one. It depends on positions, so
/// that swapped words change it; two contents have the same hash in one case of 2^64.
class Hash64 {
 public:
  Hash64();
  void add(std::span<const std::byte> piece);
  std::uint64_t value() const;

 private:
  struct Free {
    void operator()(XXH3_state_s* state) const;
  };
  std::unique_ptr<XXH3_state_s, Free> state_;
};

/// A cheaper hash, for every step: sums, and sums of these sums (Fletcher 1982), of 64-bit words in
/// eight lanes, modulo 2^64. One changed word always changes it. So do two, unless they are in one
/// lane, change by opposite amounts, and are a multiple of 2^64 / amount words apart.
std::uint64_t quick_hash(std::span<const std::byte> memory, std::uint64_t seed);

}  // namespace dllaunch
