#include "runtime/communicators/mpi/eager_limit.hpp"

#include "support/parse_number.hpp"

namespace dllaunch {

std::size_t eager_limit_over_tcp(const EnvLookup& environment) {
  constexpr std::size_t usual = std::size_t{64} << 10;
  constexpr std::size_t room_for_headers = 512;  // ob1's largest takes less than 100
  const std::string text = environment("OMPI_MCA_btl_tcp_eager_limit").value_or("");
  auto limit = parse_number<std::size_t>(text).value_or(0);
  // Open MPI rejects what it cannot parse. With a tiny limit, splitting is no help.
  if (limit < 2 * room_for_headers) limit = usual;
  return limit - room_for_headers;
}

}  // namespace dllaunch
