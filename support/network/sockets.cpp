#include "support/network/sockets.hpp"

#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <thread>

#include "support/awake_clock.hpp"

namespace dllaunch {
namespace {

using Clock = AwakeClock;

constexpr std::chrono::milliseconds connect_patience(3000);
constexpr std::size_t longest_reply = std::size_t{16} << 20;

bool wait_for(int socket, short what, int milliseconds) {
  pollfd one{socket, what, 0};
  while (true) {
    const int ready = poll_awake(&one, 1, milliseconds);
    if (ready >= 0 || errno != EINTR) return ready > 0;
  }
}

/// Returns the address of an end of a connection; `which`: getsockname or getpeername.
std::string end_of(int socket, int (*which)(int, sockaddr*, socklen_t*)) {
  sockaddr_storage address{};
  socklen_t size = sizeof address;
  auto* generic = reinterpret_cast<sockaddr*>(&address);
  const std::string text = which(socket, generic, &size) == 0 ? numeric_address(generic) : "";
  if (text.empty()) return "an unknown address";
  const std::string four_in_six = "::ffff:";
  return text.starts_with(four_in_six) ? text.substr(four_in_six.size()) : text;
}

}  // namespace

int closed_with_reason(int socket) {
  const int error = errno;
  if (socket >= 0) close(socket);
  errno = error;
  return -1;
}

int bound_and_listening(int socket, const sockaddr* address, socklen_t size) {
  if (socket < 0 || bind(socket, address, size) != 0) return closed_with_reason(socket);
  constexpr int backlog = 8192;  // the kernel caps it
  return listen(socket, backlog) == 0 ? socket : closed_with_reason(socket);
}

std::string last_error() {
  return std::strerror(errno);
}

int milliseconds_until(Clock::time_point deadline) {
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - Clock::now()).count();
  return static_cast<int>(std::clamp<std::int64_t>(left, 0, 1'000'000'000));
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
    made = bound_and_listening(made, reinterpret_cast<const sockaddr*>(&six), sizeof six);
    if (made >= 0 || errno == EADDRINUSE) return made;
  }
  sockaddr_in four{};
  four.sin_family = AF_INET;
  four.sin_port = six.sin6_port;
  made = socket(AF_INET, kind, 0);
  if (made >= 0) setsockopt(made, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  return bound_and_listening(made, reinterpret_cast<const sockaddr*>(&four), sizeof four);
}

int accept_within(int listener, int milliseconds) {
  constexpr std::chrono::milliseconds until_descriptors_are_closed(100);
  if (!wait_for(listener, POLLIN, milliseconds)) return -1;
  const int came = accept4(listener, nullptr, nullptr, SOCK_CLOEXEC);
  // A connection may have been taken back before it was accepted.
  const bool is_gone = errno == EAGAIN || errno == EINTR || errno == ECONNABORTED;
  if (came < 0 && !is_gone) std::this_thread::sleep_for(until_descriptors_are_closed);
  return came;
}

int port_of(int socket) {
  sockaddr_storage address{};
  socklen_t size = sizeof address;
  if (getsockname(socket, reinterpret_cast<sockaddr*>(&address), &size) != 0) return 0;
  // The port is at the same offset for both families.
  return ntohs(reinterpret_cast<const sockaddr_in&>(address).sin_port);
}

std::string numeric_address(const sockaddr* address) {
  if (address == nullptr) return "";
  const bool is_six = address->sa_family == AF_INET6;
  if (!is_six && address->sa_family != AF_INET) return "";
  const socklen_t size = is_six ? sizeof(sockaddr_in6) : sizeof(sockaddr_in);
  std::array<char, NI_MAXHOST> text{};
  const int failed =
      getnameinfo(address, size, text.data(), text.size(), nullptr, 0, NI_NUMERICHOST);
  return failed != 0 ? "" : text.data();
}

std::string peer_of(int socket) {
  return end_of(socket, getpeername);
}

std::string own_address_of(int socket) {
  return end_of(socket, getsockname);
}

bool is_loopback(const std::string& address) {
  return address.starts_with("127.") || address == "::1";
}

LineState read_line(int socket, std::string& line) {
  std::array<char, 65536> piece;
  const ssize_t here = recv(socket, piece.data(), piece.size(), MSG_PEEK);
  if (here < 0 && (errno == EAGAIN || errno == EINTR)) return LineState::incomplete;
  if (here <= 0) return LineState::closed;
  const auto* const end = std::find(piece.data(), piece.data() + here, '\n');
  const auto text = static_cast<std::size_t>(end - piece.data());
  const bool complete = end != piece.data() + here;
  line.append(piece.data(), text);
  // What was looked at is there to be taken.
  if (recv(socket, piece.data(), text + (complete ? 1 : 0), 0) < 0) return LineState::closed;
  return complete ? LineState::complete : LineState::incomplete;
}

std::vector<SocketAddress> addresses_of(const std::string& host, int port) {
  addrinfo wanted{};
  wanted.ai_socktype = SOCK_STREAM;
  addrinfo* list = nullptr;
  const std::string service = std::to_string(port);
  if (getaddrinfo(host.c_str(), service.c_str(), &wanted, &list) != 0) return {};
  std::vector<SocketAddress> found;
  for (const addrinfo* at = list; at != nullptr; at = at->ai_next) {
    SocketAddress one{.size = at->ai_addrlen};
    std::memcpy(&one.address, at->ai_addr, at->ai_addrlen);
    found.push_back(one);
  }
  freeaddrinfo(list);
  return found;
}

SocketAddress at_port(SocketAddress address, int port) {
  // The port is at the same offset for both families.
  reinterpret_cast<sockaddr_in&>(address.address).sin_port = htons(static_cast<in_port_t>(port));
  return address;
}

int begin_to_connect(const SocketAddress& address) {
  const int made = socket(address.address.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (made < 0) return -1;
  const auto* generic = reinterpret_cast<const sockaddr*>(&address.address);
  const bool begun = connect(made, generic, address.size) == 0 || errno == EINPROGRESS;
  return begun ? made : closed_with_reason(made);
}

int finish_connecting(int socket, std::chrono::milliseconds limit) {
  const bool ready = wait_for(socket, POLLOUT, static_cast<int>(limit.count()));
  int error = 0;
  socklen_t size = sizeof error;
  if (getsockopt(socket, SOL_SOCKET, SO_ERROR, &error, &size) != 0) error = errno;
  if (ready && error == 0) {
    fcntl(socket, F_SETFL, fcntl(socket, F_GETFL) & ~O_NONBLOCK);
    return socket;
  }
  errno = error != 0 ? error : ETIMEDOUT;
  return closed_with_reason(socket);
}

int connect_to(const std::string& host, int port) {
  return connect_to(addresses_of(host, port));
}

int connect_to(const std::vector<SocketAddress>& addresses) {
  for (const auto& address : addresses) {
    const int made = begin_to_connect(address);
    if (made < 0) continue;
    const int connected = finish_connecting(made, connect_patience);
    if (connected >= 0) return connected;
  }
  return -1;
}

std::string exchange(int socket, const std::string& line, Clock::time_point deadline) {
  if (socket < 0) return "";
  std::string answer;
  const bool sent =
      send(socket, line.data(), line.size(), MSG_NOSIGNAL) == static_cast<ssize_t>(line.size());
  while (sent && answer.size() < longest_reply && !answer.ends_with('\n')) {
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
