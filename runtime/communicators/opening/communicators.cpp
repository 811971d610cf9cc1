#include "runtime/communicators/opening/communicators.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <vector>

#include "runtime/communicators/hierarchical/hierarchical.hpp"
#include "runtime/communicators/host/host_communicator.hpp"
#include "runtime/communicators/host/transports.hpp"
#include "runtime/communicators/mpi/mpi.hpp"
#include "runtime/communicators/nccl/nccl.hpp"
#include "runtime/communicators/parameter_server/parameter_server.hpp"
#include "runtime/communicators/ring/ring.hpp"
#include "runtime/communicators/solo/solo.hpp"

namespace dllaunch {
namespace {

/// Opens a communicator that sends its messages through Peers.
template <auto open>
Result<std::unique_ptr<Communicator>> over_peers(const RankEnv& env) {
  auto world = open_peers(env);
  if (!world) return std::move(world).error();
  return open(*std::move(world));
}

constexpr std::array<CommunicatorEntry, 6> table = {{
    {"solo", "one rank, nothing to exchange", open_solo},
    {"hierarchical", "shared memory within a node, messages between nodes",
     over_peers<open_hierarchical>},
    {"mpi", "nonblocking collectives of the MPI library", open_mpi},
    {"nccl", "NCCL or RCCL between GPUs", open_nccl},
    {"ring", "the textbook's ring, for comparison", over_peers<open_ring>},
    {"parameter-server", "everything through rank 0, for comparison",
     over_peers<open_parameter_server>},
}};

using Opened = Result<std::unique_ptr<Communicator>>;

/// Collective over `host`, which is NCCL's if that opens.
Opened open_over(Opened host, const RankEnv& env, bool on_gpu, std::string& why_not,
                 decltype(&open_nccl_over) nccl) {
  if (!host || (*host)->size() == 1) return host;
  // Nodes may differ in their drivers, and ranks must agree which communicator they open.
  std::array<std::int64_t, 2> some{on_gpu ? 1 : 0, on_gpu ? 0 : 1};
  (*host)->wait((*host)->all_reduce(some.data(), some.size(), DType::i64, ReduceOp::max));
  if (some[0] == 0) return host;
  if (some[1] != 0) {
    why_not = "not every rank has a GPU";
    return host;
  }
  auto opened = nccl(*host, env);
  if (opened) return opened;
  why_not = opened.error().what;
  return host;
}

}  // namespace

std::span<const CommunicatorEntry> communicators() {
  return table;
}

Result<std::unique_ptr<Communicator>> open_communicator(std::string_view name, const RankEnv& env) {
  if (name == "auto") return open_host_communicator(env);
  const auto* entry = std::ranges::find(table, name, &CommunicatorEntry::name);
  if (entry != table.end()) return entry->open(env);

  std::vector<std::string_view> known = {"auto"};
  for (const CommunicatorEntry& each : table) known.push_back(each.name);
  return Error{ErrorKind::bad_request, fmt::format("unknown communicator \"{}\"", name),
               fmt::format("known: {}", fmt::join(known, ", "))};
}

Result<std::unique_ptr<Communicator>> open_automatic(const RankEnv& env, bool on_gpu,
                                                     std::string& why_not,
                                                     decltype(&open_nccl_over) nccl) {
  return open_over(open_host_communicator(env), env, on_gpu, why_not, nccl);
}

Result<std::unique_ptr<Communicator>> open_automatic_group(std::unique_ptr<Peers> group,
                                                           const RankEnv& env, bool on_gpu,
                                                           std::string& why_not,
                                                           decltype(&open_nccl_over) nccl) {
  return open_over(open_host_group(std::move(group)), env, on_gpu, why_not, nccl);
}

}  // namespace dllaunch
