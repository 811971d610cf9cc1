// Deterministic damage to bytes, by seed, for tests of readers.
#pragma once

#include <cstdint>
#include <string>

#include "support/random.hpp"

namespace dllaunch {

/// Applies one to four of: a flipped bit, a changed byte, a truncation, a repeated or removed
/// piece.
inline std::string mutated(std::string bytes, std::uint64_t seed) {
  std::uint64_t counter = 0;
  const auto below = [&](std::uint64_t bound) {
    return static_cast<std::size_t>(random_below(random_bits(mix_bits(seed), counter++), bound));
  };
  const std::size_t changes = 1 + below(4);
  for (std::size_t i = 0; i < changes && !bytes.empty(); ++i) {
    const std::size_t at = below(bytes.size());
    const std::size_t count = 1 + below(16);
    switch (below(5)) {
      case 0:
        bytes[at] = static_cast<char>(bytes[at] ^ (1 << below(8)));
        break;
      case 1:
        bytes[at] = static_cast<char>(below(256));
        break;
      case 2:
        bytes.resize(at);
        break;
      case 3:
        bytes.insert(at, bytes.substr(at, count));
        break;
      default:
        bytes.erase(at, count);
    }
  }
  return bytes;
}

}  // namespace dllaunch
