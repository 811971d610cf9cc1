// The communicators of this rank, for tests that run under mpirun.
#pragma once

#include <memory>
#include <stdexcept>
#include <string_view>

#include "runtime/communicators/communicator.hpp"
#include "runtime/communicators/hierarchical/hierarchical.hpp"
#include "runtime/communicators/mpi/mpi_peers.hpp"
#include "runtime/communicators/opening/communicators.hpp"

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

/// Each `ranks_per_node` consecutive ranks are a node.
inline std::unique_ptr<Communicator> in_nodes_of(int ranks_per_node) {
  return or_throw(open_hierarchical_in_nodes_of(all_peers(), ranks_per_node));
}

}  // namespace dllaunch
