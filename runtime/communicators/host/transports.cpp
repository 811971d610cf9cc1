#include "runtime/communicators/host/transports.hpp"

#include <fmt/core.h>

#include "runtime/communicators/mpi/mpi_peers.hpp"
#include "runtime/communicators/tcp/tcp_peers.hpp"
#include "runtime/rank/mpi_module_file.hpp"
#include "runtime/rank/transport.hpp"

namespace dllaunch {

Result<std::unique_ptr<Peers>> open_peers(const RankEnv& env) {
  const auto lookup = process_environment();
  const auto transport = transport_of(env, lookup);
  if (!transport) return transport.error();
  if (*transport == Transport::mpi) return open_mpi_peers(env);
  auto peers = open_tcp_peers(env, lookup);
  if (peers || !env.mpi || find_mpi_module(lookup)) return peers;
  return Error{peers.error().kind,
               fmt::format("{}; and there is no MPI module for ranks that {} started",
                           peers.error().what, env.launcher),
               "build one: dllaunch build-mpi-module; or start them through `dllaunch exec`"};
}

}  // namespace dllaunch
