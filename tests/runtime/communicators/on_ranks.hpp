// The communicators of this rank, for tests that run under mpirun.
#pragma once

#include <cstdlib>
#include <memory>
#include <stdexcept>
#include <string_view>
#include <utility>
#include <vector>

#include "runtime/communicators/communicator.hpp"
#include "runtime/communicators/hierarchical/hierarchical.hpp"
#include "runtime/communicators/mpi/mpi_peers.hpp"
#include "runtime/communicators/opening/communicators.hpp"
#include "runtime/communicators/tcp/tcp_peers.hpp"
#include "runtime/rank/node_leaves.hpp"
#include "tests/runtime/communicators/tcp/held_port.hpp"

namespace dllaunch {

/// Returns the value. Throws what went wrong.
template <typename T>
T or_throw(Result<T> result) {
  if (!result) throw std::runtime_error(result.error().what);
  return *std::move(result);
}

inline std::unique_ptr<Communicator> all_ranks(std::string_view name = "auto") {
  return or_throw(open_communicator(name, or_throw(read_rank_env(process_environment()))));
}

inline std::unique_ptr<Peers> all_peers() {
  return or_throw(open_mpi_peers(or_throw(read_rank_env(process_environment()))));
}

/// The same ranks over TCP; they must be on one machine.
inline std::unique_ptr<Peers> all_tcp_peers() {
  const auto env = or_throw(read_rank_env(process_environment()));
  const HeldPort held;
  const std::vector<std::int64_t> own = {held.port()};
  return or_throw(open_tcp_peers_at({.rank = env.rank,
                                     .size = env.world_size,
                                     .address = "127.0.0.1",
                                     .port = static_cast<int>(all_peers()->gather_all(own).front()),
                                     .secret = "the secret of a test",
                                     .host = "localhost"}));
}

/// Each `ranks_per_node` consecutive ranks are a node.
inline std::unique_ptr<Communicator> in_nodes_of(int ranks_per_node,
                                                 std::unique_ptr<Peers> peers = all_peers()) {
  return or_throw(open_hierarchical_in_nodes_of(std::move(peers), ranks_per_node));
}

/// The same, with the nodes below up to three leaves of unequal sizes.
inline std::unique_ptr<Communicator> in_leaves_of_nodes_of(int ranks_per_node,
                                                           std::unique_ptr<Peers> peers) {
  std::vector<int> leaves;
  for (int left = (peers->size() + ranks_per_node - 1) / ranks_per_node; left > 0;) {
    leaves.push_back(leaves.size() == 2 ? left : (left + 1) / 2);
    left -= leaves.back();
  }
  setenv(node_leaves_variable, to_text(leaves).c_str(), 1);
  auto communicator = in_nodes_of(ranks_per_node, std::move(peers));
  unsetenv(node_leaves_variable);
  return communicator;
}

}  // namespace dllaunch
