#include "launcher/rank/rendezvous/reserved_port.hpp"

#include <fmt/core.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "support/network/sockets.hpp"

namespace dllaunch {
namespace {

int bound_socket(int family) {
  const int made = socket(family, SOCK_STREAM, 0);
  if (made < 0) return -1;
  const int on = 1;
  const int off = 0;
  setsockopt(made, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  sockaddr_in6 six{};
  six.sin6_family = AF_INET6;
  sockaddr_in four{};
  four.sin_family = AF_INET;
  const bool is_six = family == AF_INET6;
  if (is_six) setsockopt(made, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof off);
  const auto* address =
      is_six ? reinterpret_cast<const sockaddr*>(&six) : reinterpret_cast<const sockaddr*>(&four);
  if (bind(made, address, is_six ? sizeof six : sizeof four) == 0) return made;
  const int error = errno;
  close(made);
  errno = error;
  return -1;
}

}  // namespace

Result<ReservedPort> reserve_port() {
  int bound = bound_socket(AF_INET6);
  if (bound < 0) bound = bound_socket(AF_INET);
  if (bound < 0) {
    return Error{ErrorKind::unavailable, fmt::format("no free port: {}", std::strerror(errno)), ""};
  }
  return ReservedPort{bound, port_of(bound)};
}

}  // namespace dllaunch
