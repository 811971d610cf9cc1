#include "runtime/communicators/opening/communicators.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <vector>

#include "runtime/communicators/hierarchical/hierarchical.hpp"
#include "runtime/communicators/host/host_communicator.hpp"
#include "runtime/communicators/mpi/mpi.hpp"
#include "runtime/communicators/nccl/nccl.hpp"
#include "runtime/communicators/parameter_server/parameter_server.hpp"
#include "runtime/communicators/ring/ring.hpp"
#include "runtime/communicators/solo/solo.hpp"

namespace dllaunch {
namespace {

constexpr std::array<CommunicatorEntry, 6> table = {{
    {"solo", "one rank, nothing to exchange", open_solo},
    {"hierarchical", "shared memory within a node, MPI between nodes", open_hierarchical},
    {"mpi", "nonblocking collectives of the MPI library", open_mpi},
    {"nccl", "NCCL or RCCL between GPUs", open_nccl},
    {"ring", "the textbook's ring, for comparison", open_ring},
    {"parameter-server", "everything through rank 0, for comparison", open_parameter_server},
}};

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

}  // namespace dllaunch
