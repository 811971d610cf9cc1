#include "runtime/communicators/host/host_communicator.hpp"

#include <fmt/core.h>

#include <cstdio>

#include "runtime/communicators/hierarchical/hierarchical.hpp"
#include "runtime/communicators/host/transports.hpp"
#include "runtime/communicators/mpi/mpi.hpp"
#include "runtime/communicators/solo/solo.hpp"
#include "runtime/rank/transport.hpp"

namespace dllaunch {

Result<std::unique_ptr<Communicator>> open_host_communicator(const RankEnv& env) {
  if (env.world_size == 1) return open_solo(env);
  const auto transport = transport_of(env, process_environment());
  if (!transport) return transport.error();
  auto kept = open_peers(env);  // keeps the transport alive meanwhile
  if (!kept) return std::move(kept).error();
  auto world = open_peers(env);
  if (!world) return std::move(world).error();
  auto hierarchical = open_hierarchical(*std::move(world));
  if (hierarchical) return hierarchical;
  const bool tcp = *transport == Transport::tcp;
  if (env.rank == 0) {
    fmt::print(stderr, "dltrain: warning: {}; gradients go through {}, which is slower\n",
               hierarchical.error().what, tcp ? "TCP" : "MPI");
  }
  return tcp ? open_hierarchical_in_nodes_of(*std::move(kept), 1) : open_mpi(env);
}

Result<std::unique_ptr<Communicator>> open_host_group(std::unique_ptr<Peers> group) {
  if (group->size() == 1) return stand_in_for(1);
  auto apart = group->split(/*colour=*/0, group->rank());  // if they cannot share memory
  auto hierarchical = open_hierarchical(std::move(group));
  return hierarchical ? std::move(hierarchical)
                      : open_hierarchical_in_nodes_of(std::move(apart), 1);
}

}  // namespace dllaunch
