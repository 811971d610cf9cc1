#include "runtime/communicators/host/transports.hpp"

#include "runtime/communicators/mpi/mpi_peers.hpp"
#include "runtime/communicators/tcp/tcp_peers.hpp"
#include "runtime/rank/transport.hpp"

namespace dllaunch {

Result<std::unique_ptr<Peers>> open_peers(const RankEnv& env) {
  const auto lookup = process_environment();
  const auto transport = transport_of(env, lookup);
  if (!transport) return transport.error();
  if (*transport == Transport::tcp) return open_tcp_peers(env, lookup);
  return open_mpi_peers(env);
}

}  // namespace dllaunch
