// What peers must do over every transport; each test of a transport calls it on its ranks.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <vector>

#include "runtime/communicators/peers/peers.hpp"

namespace dllaunch {

/// Bytes that identify their sender and position.
inline std::vector<std::byte> letter(int from, std::size_t bytes) {
  std::vector<std::byte> text(bytes);
  for (std::size_t i = 0; i < bytes; ++i) {
    text[i] = static_cast<std::byte>((i * 7 + i / 251 + static_cast<std::size_t>(from)) % 256);
  }
  return text;
}

/// Every rank sends to its right, two exchanges at once.
inline void expect_arrives(Peers& peers, std::size_t bytes) {
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

inline void expect_messages_arrive_whole(Peers& peers) {
  for (const std::size_t bytes : {0, 1, 1000, 65'537, 1 << 20, (1 << 20) + 1}) {
    expect_arrives(peers, bytes);
  }
}

inline void expect_pieces_arrive_whole(Peers& peers) {
  for (const std::size_t limit : {1, 7, 1000}) {
    peers.limit_messages(limit);
    for (const std::size_t bytes : {std::size_t{0}, limit - 1, limit, limit + 1, 5 * limit + 3}) {
      expect_arrives(peers, bytes);
    }
  }
  peers.limit_messages(Peers::most_message_bytes);
}

inline void expect_groups_know_their_ranks(Peers& peers) {
  const auto halves = peers.split(peers.rank() % 2, -peers.rank());
  EXPECT_EQ(halves->size(), (peers.size() + 1 - peers.rank() % 2) / 2);
  EXPECT_EQ(halves->rank(), halves->size() - 1 - peers.rank() / 2) << "in the order of the key";
  EXPECT_EQ(peers.on_this_node()->size(), peers.size());
  expect_arrives(*halves, 1000);
}

/// Ranks post the messages of three groups in different orders.
inline void expect_groups_are_apart(Peers& peers) {
  const auto all = peers.split(0, peers.rank());
  const auto backwards = peers.split(0, -peers.rank());
  struct Way {
    Peers* group;
    std::size_t bytes;
    Pending exchange = {};
    std::vector<std::byte> out = {};
    std::vector<std::byte> in = {};
  };
  std::vector<Way> ways = {{&peers, 3'000'000}, {all.get(), 10}, {backwards.get(), 90'000}};
  if (peers.rank() % 2 == 1) std::ranges::reverse(ways);
  for (Way& way : ways) {
    Peers& group = *way.group;
    way.out = letter(group.rank(), way.bytes);
    way.in.resize(way.bytes);
    way.exchange = group.open();
    group.send(way.exchange, way.out.data(), way.bytes, (group.rank() + 1) % group.size(), 5);
    group.receive(way.exchange, way.in.data(), way.bytes,
                  (group.rank() + group.size() - 1) % group.size(), 5);
  }
  for (Way& way : ways) {
    Peers& group = *way.group;
    group.wait(way.exchange);
    EXPECT_EQ(way.in, letter((group.rank() + group.size() - 1) % group.size(), way.bytes));
  }
}

inline void expect_gathers_all(Peers& peers) {
  for (const std::size_t count : {1, 3, 2000}) {
    std::vector<std::int64_t> mine(count, 100 * peers.rank());
    for (std::size_t i = 0; i < count; ++i) mine[i] += static_cast<std::int64_t>(i);
    const auto all = peers.gather_all(mine);
    ASSERT_EQ(all.size(), count * static_cast<std::size_t>(peers.size()));
    for (std::size_t i = 0; i < all.size(); ++i) {
      ASSERT_EQ(all[i], static_cast<std::int64_t>(100 * (i / count) + i % count));
    }
  }
}

/// Collectives of several sizes at once, ended in the opposite order.
inline void expect_collectives_end_in_any_order(Peers& peers) {
  constexpr std::size_t sizes[] = {1, 5, 1000, 300'001};
  std::vector<std::vector<std::int64_t>> sums;
  std::vector<std::vector<std::int64_t>> sent;
  std::vector<Pending> pending;
  for (const std::size_t size : sizes) {
    sums.emplace_back(size, peers.rank() + 1);
    pending.push_back(peers.open());
    peers.all_reduce(pending.back(), reinterpret_cast<std::byte*>(sums.back().data()), size,
                     DType::i64, ReduceOp::average);
    const int root = static_cast<int>(size) % peers.size();
    sent.emplace_back(size, peers.rank() == root ? 77 : 0);
    pending.push_back(peers.open());
    peers.broadcast(pending.back(), reinterpret_cast<std::byte*>(sent.back().data()), 8 * size,
                    root);
    pending.push_back(peers.open());
    peers.barrier(pending.back());
  }
  std::ranges::reverse(pending);
  for (const Pending each : pending) peers.wait(each);
  const std::int64_t sum = peers.size() * (peers.size() + 1) / 2;
  for (std::size_t i = 0; i < sums.size(); ++i) {
    EXPECT_EQ(sums[i], std::vector<std::int64_t>(sizes[i], sum)) << "an average stays a sum";
    EXPECT_EQ(sent[i], std::vector<std::int64_t>(sizes[i], 77));
  }
}

/// A chain of messages, each begun by the end of the one before, and a collective with an action.
inline void expect_actions_continue_exchanges(Peers& peers) {
  std::int64_t value = peers.rank();
  std::int64_t got = -1;
  const int right = (peers.rank() + 1) % peers.size();
  const int left = (peers.rank() + peers.size() - 1) % peers.size();
  const Pending exchange = peers.open();
  int rounds = 0;
  const std::function<void()> pass = [&] {
    if (rounds == peers.size()) return;
    if (rounds++ > 0) value = got;
    peers.receive(exchange, reinterpret_cast<std::byte*>(&got), sizeof got, left, 9);
    peers.send(exchange, reinterpret_cast<const std::byte*>(&value), sizeof value, right, 9);
    peers.at_end(exchange, pass);
  };
  pass();
  peers.wait(exchange);
  EXPECT_EQ(got, peers.rank()) << "once around";

  bool acted = false;
  const Pending barrier = peers.open();
  peers.barrier(barrier);
  peers.at_end(barrier, [&] { acted = true; });
  peers.wait(barrier);
  EXPECT_TRUE(acted);
}

}  // namespace dllaunch
