#include "runtime/watchdog/side_channel.hpp"

#include <arpa/inet.h>
#include <fmt/core.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace dllaunch {
namespace {

constexpr std::size_t v4_offset = 12;
constexpr std::array<std::uint8_t, v4_offset> v4_prefix = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 255, 255};

HostAddress mapped(const in_addr& v4) {
  HostAddress address = {};
  std::ranges::copy(v4_prefix, address.begin());
  std::memcpy(address.data() + v4_offset, &v4, sizeof v4);
  return address;
}

bool is_v4(const HostAddress& address) {
  return std::equal(v4_prefix.begin(), v4_prefix.end(), address.begin());
}

std::optional<HostAddress> usable(const ifaddrs& of) {
  if (of.ifa_addr == nullptr || (of.ifa_flags & IFF_UP) == 0 || (of.ifa_flags & IFF_LOOPBACK) != 0)
    return std::nullopt;
  if (of.ifa_addr->sa_family == AF_INET) {
    sockaddr_in v4 = {};
    std::memcpy(&v4, of.ifa_addr, sizeof v4);
    return mapped(v4.sin_addr);
  }
  if (of.ifa_addr->sa_family != AF_INET6) return std::nullopt;
  sockaddr_in6 v6 = {};
  std::memcpy(&v6, of.ifa_addr, sizeof v6);
  if (IN6_IS_ADDR_LINKLOCAL(&v6.sin6_addr) != 0) return std::nullopt;
  HostAddress address = {};
  std::memcpy(address.data(), &v6.sin6_addr, address.size());
  return address;
}

Error failure(const char* what) {
  return Error{ErrorKind::unavailable, fmt::format("{}: {}", what, std::strerror(errno)), ""};
}

/// Binds to every interface, on any port. False: the kernel lacks such sockets.
bool bind_anywhere(int file, bool ipv6) {
  sockaddr_in6 v6 = {};
  v6.sin6_family = AF_INET6;
  sockaddr_in v4 = {};
  v4.sin_family = AF_INET;
  return ipv6 ? ::bind(file, reinterpret_cast<const sockaddr*>(&v6), sizeof v6) == 0
              : ::bind(file, reinterpret_cast<const sockaddr*>(&v4), sizeof v4) == 0;
}

}  // namespace

std::vector<HostAddress> host_addresses() {
  std::vector<HostAddress> found;
  ifaddrs* all = nullptr;
  if (::getifaddrs(&all) != 0) return found;
  for (const ifaddrs* each = all; each != nullptr; each = each->ifa_next) {
    const auto address = usable(*each);
    if (address && std::ranges::find(found, *address) == found.end()) found.push_back(*address);
  }
  ::freeifaddrs(all);
  // IPv4 first: if both exist, a cluster's nodes usually know each other by it.
  std::stable_partition(found.begin(), found.end(), is_v4);
  return found;
}

Result<SideChannel> SideChannel::open() {
  SideChannel channel;
  for (const bool ipv6 : {true, false}) {
    channel.ipv6_ = ipv6;
    channel.socket_ = FileDescriptor(
        ::socket(ipv6 ? AF_INET6 : AF_INET, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    if (!channel.socket_) continue;
    const int off = 0;
    if (ipv6) ::setsockopt(channel.fd(), IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof off);
    // A thousand nodes may answer at once.
    const int room = 2 << 20;
    ::setsockopt(channel.fd(), SOL_SOCKET, SO_RCVBUF, &room, sizeof room);
    if (!bind_anywhere(channel.fd(), ipv6)) continue;
    sockaddr_in6 bound = {};
    socklen_t size = sizeof bound;
    if (::getsockname(channel.fd(), reinterpret_cast<sockaddr*>(&bound), &size) != 0) continue;
    channel.port_ = ntohs(bound.sin6_port);  // sockaddr_in has its port at the same offset
    return channel;
  }
  return failure("no UDP socket");
}

void SideChannel::send(std::span<const std::byte> bytes, const HostAddress& address,
                       std::uint16_t port) const {
  if (ipv6_) {
    sockaddr_in6 to = {};
    to.sin6_family = AF_INET6;
    to.sin6_port = htons(port);
    std::memcpy(&to.sin6_addr, address.data(), address.size());
    ::sendto(fd(), bytes.data(), bytes.size(), MSG_DONTWAIT | MSG_NOSIGNAL,
             reinterpret_cast<const sockaddr*>(&to), sizeof to);
  } else if (is_v4(address)) {
    sockaddr_in to = {};
    to.sin_family = AF_INET;
    to.sin_port = htons(port);
    std::memcpy(&to.sin_addr, address.data() + v4_offset, sizeof to.sin_addr);
    ::sendto(fd(), bytes.data(), bytes.size(), MSG_DONTWAIT | MSG_NOSIGNAL,
             reinterpret_cast<const sockaddr*>(&to), sizeof to);
  }
}

std::optional<std::span<const std::byte>> SideChannel::receive(std::span<std::byte> into,
                                                               From& from) const {
  sockaddr_storage sender = {};
  socklen_t size = sizeof sender;
  ssize_t count = -1;
  do {
    size = sizeof sender;
    count = ::recvfrom(fd(), into.data(), into.size(), MSG_DONTWAIT,
                       reinterpret_cast<sockaddr*>(&sender), &size);
    // ECONNREFUSED: one of our datagrams met a closed port; datagrams may be queued behind it.
  } while (count < 0 && (errno == EINTR || errno == ECONNREFUSED));
  if (count < 0) return std::nullopt;
  if (sender.ss_family == AF_INET6) {
    sockaddr_in6 v6 = {};
    std::memcpy(&v6, &sender, sizeof v6);
    std::memcpy(from.address.data(), &v6.sin6_addr, from.address.size());
    from.port = ntohs(v6.sin6_port);
  } else {
    sockaddr_in v4 = {};
    std::memcpy(&v4, &sender, sizeof v4);
    from.address = mapped(v4.sin_addr);
    from.port = ntohs(v4.sin_port);
  }
  return into.first(static_cast<std::size_t>(count));
}

}  // namespace dllaunch
