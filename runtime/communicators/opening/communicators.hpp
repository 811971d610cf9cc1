// Opening: the table of communicators in this build; opens one by name.
// Implements no collective: each communicator has its own room.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "runtime/communicators/communicator.hpp"
#include "runtime/communicators/nccl/nccl.hpp"
#include "runtime/communicators/peers/peers.hpp"
#include "runtime/rank/rank_env.hpp"
#include "support/result.hpp"

namespace dllaunch {

/// One row per communicator, in runtime/communicators/opening/communicators.cpp.
struct CommunicatorEntry {
  std::string_view name;  // solo | hierarchical | mpi | nccl | ring | parameter-server
  std::string_view summary;
  /// Starts MPI if needed. bad_request: it cannot serve this job (solo with several ranks).
  Result<std::unique_ptr<Communicator>> (*open)(const RankEnv& env);
};
std::span<const CommunicatorEntry> communicators();

/// "auto" opens solo for one rank, else hierarchical, and mpi if the ranks of a node cannot share
/// memory. bad_request: an unknown name; lists the known ones.
Result<std::unique_ptr<Communicator>> open_communicator(std::string_view name, const RankEnv& env);

/// Collective. What "auto" opens where GPUs compute: nccl. Without it, or if this is false for some
/// rank's `on_gpu`, the same as open_communicator(); `why_not` then says why, if any rank's is
/// true.
Result<std::unique_ptr<Communicator>> open_automatic(
    const RankEnv& env, bool on_gpu, std::string& why_not,
    decltype(&open_nccl_over) nccl = open_nccl_over);

/// Collective among `group`, a part of the ranks: the same for it.
Result<std::unique_ptr<Communicator>> open_automatic_group(
    std::unique_ptr<Peers> group, const RankEnv& env, bool on_gpu, std::string& why_not,
    decltype(&open_nccl_over) nccl = open_nccl_over);

}  // namespace dllaunch
