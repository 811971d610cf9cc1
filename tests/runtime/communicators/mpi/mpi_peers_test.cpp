// Runs on 1 to 4 real ranks.
#include "runtime/communicators/mpi/mpi_peers.hpp"

#include <gtest/gtest.h>

#include <vector>

#include "tests/runtime/communicators/on_ranks.hpp"

namespace dllaunch {
namespace {

/// Bytes that identify their sender and position.
std::vector<std::byte> letter(int from, std::size_t bytes) {
  std::vector<std::byte> text(bytes);
  for (std::size_t i = 0; i < bytes; ++i) {
    text[i] = static_cast<std::byte>((i * 7 + i / 251 + static_cast<std::size_t>(from)) % 256);
  }
  return text;
}

/// Every rank sends to its right, two exchanges at once.
void expect_arrives(Peers& peers, std::size_t bytes) {
  const int right = (peers.rank() + 1) % peers.size();
  const int left = (peers.rank() + peers.size() - 1) % peers.size();
  const auto out = letter(peers.rank(), bytes);
  std::vector<std::vector<std::byte>> in(2, std::vector<std::byte>(bytes + 1, std::byte{42}));
  std::vector<Pending> exchanges;
  for (std::uint64_t round = 0; round < in.size(); ++round) {
    exchanges.push_back(peers.open());
    peers.receive(exchanges.back(), in[round].data(), bytes, left, round);
    peers.send(exchanges.back(), out.data(), bytes, right, round);
  }
  for (const Pending exchange : exchanges) peers.wait(exchange);
  auto expected = letter(left, bytes);
  expected.push_back(std::byte{42});  // and nothing beyond
  for (const auto& each : in) EXPECT_EQ(each, expected) << bytes << " bytes";
}

TEST(Peers, AMessageOfAnySizeArrivesWhole) {
  const auto peers = all_peers();
  for (const std::size_t bytes : {0, 1, 1000, 100'000}) expect_arrives(*peers, bytes);
}

TEST(Peers, AMessageInPiecesArrivesWhole) {
  const auto peers = all_peers();
  for (const std::size_t limit : {1, 7, 1000}) {
    peers->limit_messages(limit);
    for (const std::size_t bytes : {std::size_t{0}, limit - 1, limit, limit + 1, 5 * limit + 3}) {
      expect_arrives(*peers, bytes);
    }
  }
}

TEST(Peers, AGroupKnowsItsRanks) {
  const auto peers = all_peers();
  const auto halves = peers->split(peers->rank() % 2, -peers->rank());
  EXPECT_EQ(halves->size(), (peers->size() + 1 - peers->rank() % 2) / 2);
  EXPECT_EQ(halves->rank(), halves->size() - 1 - peers->rank() / 2) << "in the order of the key";
  EXPECT_EQ(peers->on_this_node()->size(), peers->size());
}

}  // namespace
}  // namespace dllaunch
