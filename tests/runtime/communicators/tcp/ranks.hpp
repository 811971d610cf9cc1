// Ranks as threads of one process, which meet over TCP.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <thread>
#include <vector>

#include "runtime/communicators/tcp/tcp_peers.hpp"
#include "tests/runtime/communicators/tcp/held_port.hpp"

namespace dllaunch {

inline MeetingPlan plan_for(int rank, int size, int port) {
  return {.rank = rank,
          .size = size,
          .address = "127.0.0.1",
          .port = port,
          .secret = "the secret of these ranks",
          .host = "n" + std::to_string(rank)};
}

/// Calls body(plan) on every rank at once.
inline void on_plans(int size, const std::function<void(const MeetingPlan&)>& body) {
  const HeldPort held;
  std::vector<std::jthread> threads;
  for (int rank = 0; rank < size; ++rank) {
    threads.emplace_back([&, rank] { body(plan_for(rank, size, held.port())); });
  }
}

/// Calls body(peers) on every rank at once.
inline void on_tcp_ranks(int size, const std::function<void(Peers&)>& body, int connections = 1) {
  on_plans(size, [&](MeetingPlan plan) {
    plan.connections = connections;
    auto peers = open_tcp_peers_at(plan);
    ASSERT_TRUE(peers) << peers.error().what;
    body(**peers);
  });
}

}  // namespace dllaunch
