#include "runtime/rank/transport.hpp"

#include <fmt/core.h>

#include "runtime/rank/mpi_module_file.hpp"

namespace dllaunch {

Result<Transport> transport_of(const RankEnv& env, const EnvLookup& lookup) {
  const std::string wanted = lookup(transport_variable).value_or("auto");
  if (wanted == "tcp") return Transport::tcp;
  if (wanted == "mpi") return Transport::mpi;
  if (wanted == "auto") {
    return env.mpi && find_mpi_module(lookup) ? Transport::mpi : Transport::tcp;
  }
  return Error{ErrorKind::bad_request, fmt::format("{} is \"{}\"", transport_variable, wanted),
               "one of auto, tcp, mpi"};
}

}  // namespace dllaunch
