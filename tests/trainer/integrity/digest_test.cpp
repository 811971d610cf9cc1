#include "trainer/integrity/digest.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <random>
#include <vector>

namespace dllaunch {
namespace {

using Bytes = std::vector<std::byte>;

Bytes random_bytes(std::size_t count, unsigned seed) {
  std::mt19937_64 random(seed);
  Bytes bytes(count);
  for (auto& byte : bytes) byte = static_cast<std::byte>(random());
  return bytes;
}

std::uint64_t hash_of(std::span<const std::byte> memory) {
  Hash64 hash;
  hash.add(memory);
  return hash.value();
}

std::uint64_t quick_hash_of(std::span<const std::byte> memory) {
  return quick_hash(memory, 7);
}

class BothHashes : public testing::TestWithParam<std::uint64_t (*)(std::span<const std::byte>)> {};

/// Of zeros too, as gaps and the optimiser's state are at first.
TEST_P(BothHashes, EveryFlippedBitShows) {
  for (const std::size_t size : {1U, 63U, 64U, 200U, 1000U}) {
    for (Bytes bytes : {Bytes(size), random_bytes(size, 1)}) {
      const auto before = GetParam()(bytes);
      for (std::size_t bit = 0; bit < 8 * size; ++bit) {
        bytes[bit / 8] ^= std::byte{1} << static_cast<int>(bit % 8);
        EXPECT_NE(GetParam()(bytes), before) << "bit " << bit << " of " << size;
        bytes[bit / 8] ^= std::byte{1} << static_cast<int>(bit % 8);
      }
    }
  }
}

/// The same bit of two words: a sum or an exclusive or would stay what it was.
TEST_P(BothHashes, TwoFlipsDoNotCancel) {
  Bytes bytes = random_bytes(4096, 2);
  const auto before = GetParam()(bytes);
  for (std::size_t first = 0; first < 512; first += 24) {
    for (std::size_t second = first + 8; second < bytes.size(); second += 8) {
      bytes[first] ^= std::byte{8};
      bytes[second] ^= std::byte{8};
      EXPECT_NE(GetParam()(bytes), before) << first << " " << second;
      bytes[first] ^= std::byte{8};
      bytes[second] ^= std::byte{8};
    }
  }
}

TEST_P(BothHashes, SwappedWordsShow) {
  Bytes bytes = random_bytes(4096, 3);
  const auto before = GetParam()(bytes);
  for (std::size_t first = 0; first < 512; first += 8) {
    for (std::size_t second = first + 8; second < bytes.size(); second += 8) {
      std::swap_ranges(&bytes[first], &bytes[first] + 8, &bytes[second]);
      EXPECT_NE(GetParam()(bytes), before) << first << " " << second;
      std::swap_ranges(&bytes[first], &bytes[first] + 8, &bytes[second]);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, BothHashes, testing::Values(hash_of, quick_hash_of));

TEST(Hash64, PiecesAreOneMemory) {
  const Bytes bytes = random_bytes(10'000, 4);
  const std::span all(bytes);
  for (const std::size_t cut : {0U, 1U, 255U, 256U, 4096U, 10'000U}) {
    Hash64 pieces;
    pieces.add(all.first(cut));
    pieces.add(all.subspan(cut));
    EXPECT_EQ(pieces.value(), hash_of(all)) << cut;
  }
}

TEST(QuickHash, TheSeedCounts) {
  const Bytes bytes = random_bytes(100, 5);
  EXPECT_NE(quick_hash(bytes, 1), quick_hash(bytes, 2));
}

}  // namespace
}  // namespace dllaunch
