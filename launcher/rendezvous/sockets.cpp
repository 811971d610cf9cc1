#include "launcher/rendezvous/sockets.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <netdb.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstring>

namespace dllaunch {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int connect_patience_ms = 3000;
constexpr std::size_t longest_answer = std::size_t{16} << 20;

struct LocalAddress {
  sockaddr_un address{};
  socklen_t size = 0;
  const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&address); }
};

LocalAddress local_address(const std::string& start_name, int node) {
  LocalAddress made;
  made.address.sun_family = AF_UNIX;
  // A leading NUL makes it abstract.
  std::string name = fmt::format("dllaunch-{}-{}-{}", geteuid(), node, start_name);
  name.resize(std::min(name.size(), sizeof made.address.sun_path - 1));
  std::memcpy(made.address.sun_path + 1, name.data(), name.size());
  made.size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
  return made;
}

/// Closes without losing the reason.
int failed(int socket) {
  const int error = errno;
  if (socket >= 0) close(socket);
  errno = error;
  return -1;
}

int listening(int made, const sockaddr* address, socklen_t size) {
  if (made < 0 || bind(made, address, size) != 0) return failed(made);
  constexpr int backlog = 8192;  // the kernel lowers it to its own limit
  return listen(made, backlog) == 0 ? made : failed(made);
}

bool wait_for(int socket, short what, int milliseconds) {
  pollfd one{socket, what, 0};
  while (true) {
    const int ready = poll(&one, 1, milliseconds);
    if (ready >= 0 || errno != EINTR) return ready > 0;
  }
}

int connected(const addrinfo& at) {
  const int made = socket(at.ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (made < 0) return -1;
  if (connect(made, at.ai_addr, at.ai_addrlen) != 0) {
    if (errno != EINPROGRESS) return failed(made);
    const bool ready = wait_for(made, POLLOUT, connect_patience_ms);
    int error = 0;
    socklen_t size = sizeof error;
    if (getsockopt(made, SOL_SOCKET, SO_ERROR, &error, &size) != 0) return failed(made);
    if (!ready || error != 0) {
      errno = error != 0 ? error : ETIMEDOUT;
      return failed(made);
    }
  }
  fcntl(made, F_SETFL, fcntl(made, F_GETFL) & ~O_NONBLOCK);
  return made;
}

}  // namespace

bool is_ours(int socket) {
  ucred peer{};
  socklen_t size = sizeof peer;
  return getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0 && peer.uid == geteuid();
}

std::string last_error() {
  return std::strerror(errno);
}

int milliseconds_until(Clock::time_point deadline) {
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - Clock::now()).count();
  return static_cast<int>(std::clamp<std::int64_t>(left, 0, 1'000'000'000));
}

int listen_here(const std::string& start_name, int node) {
  const auto local = local_address(start_name, node);
  return listening(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0), local.get(),
                   local.size);
}

int listen_on(int port) {
  constexpr int kind = SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK;
  const int on = 1;
  const int off = 0;
  sockaddr_in6 six{};
  six.sin6_family = AF_INET6;
  six.sin6_port = htons(static_cast<in_port_t>(port));
  int made = socket(AF_INET6, kind, 0);
  if (made >= 0) {
    setsockopt(made, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    setsockopt(made, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof off);
    made = listening(made, reinterpret_cast<const sockaddr*>(&six), sizeof six);
    if (made >= 0 || errno == EADDRINUSE) return made;
  }
  sockaddr_in four{};
  four.sin_family = AF_INET;
  four.sin_port = six.sin6_port;
  made = socket(AF_INET, kind, 0);
  if (made >= 0) setsockopt(made, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  return listening(made, reinterpret_cast<const sockaddr*>(&four), sizeof four);
}

int port_of(int socket) {
  sockaddr_storage address{};
  socklen_t size = sizeof address;
  if (getsockname(socket, reinterpret_cast<sockaddr*>(&address), &size) != 0) return 0;
  // Both families keep the port in the same place.
  return ntohs(reinterpret_cast<const sockaddr_in&>(address).sin_port);
}

int connect_here(const std::string& start_name, int node) {
  const auto local = local_address(start_name, node);
  const int made = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (made < 0 || connect(made, local.get(), local.size) != 0 || !is_ours(made)) {
    return failed(made);
  }
  return made;
}

bool resolves(const std::string& address) {
  addrinfo* list = nullptr;
  if (getaddrinfo(address.c_str(), nullptr, nullptr, &list) != 0) return false;
  freeaddrinfo(list);
  return true;
}

int connect_to(const std::string& address, int port) {
  addrinfo wanted{};
  wanted.ai_socktype = SOCK_STREAM;
  addrinfo* list = nullptr;
  const std::string service = std::to_string(port);
  if (getaddrinfo(address.c_str(), service.c_str(), &wanted, &list) != 0) return -1;
  int made = -1;
  for (const addrinfo* at = list; at != nullptr && made < 0; at = at->ai_next)
    made = connected(*at);
  freeaddrinfo(list);
  return made;
}

std::string exchange(int socket, const std::string& line, Clock::time_point deadline) {
  if (socket < 0) return "";
  std::string answer;
  const bool sent =
      send(socket, line.data(), line.size(), MSG_NOSIGNAL) == static_cast<ssize_t>(line.size());
  while (sent && answer.size() < longest_answer && !answer.ends_with('\n')) {
    if (!wait_for(socket, POLLIN, milliseconds_until(deadline))) break;
    std::string piece(65536, '\0');
    const ssize_t got = recv(socket, piece.data(), piece.size(), 0);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) break;
    answer.append(piece, 0, static_cast<std::size_t>(got));
  }
  close(socket);
  if (!answer.ends_with('\n')) return "";
  answer.pop_back();
  return answer;
}

}  // namespace dllaunch
