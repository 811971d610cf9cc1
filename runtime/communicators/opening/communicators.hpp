// The communicators of this build, and how a job opens one by name.
#pragma once

#include <memory>
#include <span>
#include <string_view>

#include "runtime/communicators/communicator.hpp"
#include "runtime/rank/rank_env.hpp"
#include "support/result.hpp"

namespace dllaunch {

/// One line a communicator, in runtime/communicators/opening/communicators.cpp.
struct CommunicatorEntry {
  std::string_view name;  // solo | hierarchical | mpi | nccl | ring | parameter-server
  std::string_view summary;
  /// bad_request: it cannot serve such a job (solo with several ranks). Starts MPI where it needs
  /// it.
  Result<std::unique_ptr<Communicator>> (*open)(const RankEnv& env);
};
std::span<const CommunicatorEntry> communicators();

/// "auto" takes solo for one rank, else hierarchical, and mpi where ranks of a node cannot share
/// memory. bad_request: an unknown name, with the known ones.
Result<std::unique_ptr<Communicator>> open_communicator(std::string_view name, const RankEnv& env);

}  // namespace dllaunch
