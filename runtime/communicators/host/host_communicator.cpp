#include "runtime/communicators/host/host_communicator.hpp"

#include <fmt/core.h>

#include <cstdio>

#include "runtime/communicators/hierarchical/hierarchical.hpp"
#include "runtime/communicators/mpi/mpi.hpp"
#include "runtime/communicators/mpi/mpi_peers.hpp"
#include "runtime/communicators/solo/solo.hpp"

namespace dllaunch {

Result<std::unique_ptr<Communicator>> open_host_communicator(const RankEnv& env) {
  if (env.world_size == 1) return open_solo(env);
  auto mpi = open_mpi(env);  // first: keeps MPI alive meanwhile
  if (!mpi) return mpi;
  auto world = open_mpi_peers(env);
  if (!world) return std::move(world).error();
  auto hierarchical = open_hierarchical(*std::move(world));
  if (hierarchical) return hierarchical;
  if (env.rank == 0) {
    fmt::print(stderr, "dltrain: warning: {}; gradients go through MPI, which is slower\n",
               hierarchical.error().what);
  }
  return mpi;
}

}  // namespace dllaunch
