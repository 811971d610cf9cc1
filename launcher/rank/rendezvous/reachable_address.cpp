#include "launcher/rank/rendezvous/reachable_address.hpp"

#include <arpa/inet.h>
#include <netdb.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <string_view>

#include "support/network/sockets.hpp"

namespace dllaunch {
namespace {

bool is_virtual(std::string_view name) {
  constexpr std::array<std::string_view, 10> stems = {"docker",  "br-",  "virbr", "veth",   "cni",
                                                      "flannel", "cali", "lxc",   "podman", "kube"};
  return std::ranges::any_of(stems, [&](std::string_view stem) { return name.starts_with(stem); });
}

bool is_link_local(std::string_view address) {
  return address.starts_with("fe80:") || address.starts_with("169.254.");
}

/// Calls `look` for each address of `name` until it returns true.
template <typename Look>
void each_address(const std::string& name, Look look) {
  addrinfo wanted{};
  wanted.ai_socktype = SOCK_DGRAM;
  addrinfo* list = nullptr;
  if (name.empty() || getaddrinfo(name.c_str(), nullptr, &wanted, &list) != 0) return;
  for (const addrinfo* at = list; at != nullptr; at = at->ai_next) {
    if (!numeric_address(at->ai_addr).empty() && look(*at)) break;
  }
  freeaddrinfo(list);
}

/// Returns the kernel's source address; connecting a datagram socket sends nothing.
std::string address_towards(const std::string& peer) {
  std::string found;
  each_address(peer, [&](const addrinfo& at) {
    const int probe = socket(at.ai_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (probe < 0) return false;
    sockaddr_storage target{};
    std::memcpy(&target, at.ai_addr, std::min<std::size_t>(at.ai_addrlen, sizeof target));
    auto* address = reinterpret_cast<sockaddr*>(&target);
    const in_port_t discard = htons(9);
    if (at.ai_family == AF_INET6)
      reinterpret_cast<sockaddr_in6&>(target).sin6_port = discard;
    else
      reinterpret_cast<sockaddr_in&>(target).sin_port = discard;
    socklen_t size = sizeof target;
    if (connect(probe, address, at.ai_addrlen) == 0 && getsockname(probe, address, &size) == 0) {
      found = numeric_address(address);
    }
    close(probe);
    return !found.empty();
  });
  return found.starts_with("127.") || found == "::1" ? "" : found;
}

}  // namespace

std::string choose_address(const std::vector<ResolvedName>& names, const std::string& towards_peer,
                           const std::vector<NetworkInterface>& interfaces) {
  const auto reachable = [&](const std::string& address) {
    return std::ranges::any_of(interfaces, [&](const NetworkInterface& card) {
      return card.up && !card.loopback && card.address == address;
    });
  };
  for (const auto& [name, addresses] : names) {
    if (std::ranges::any_of(addresses, reachable)) return name;
  }
  if (!towards_peer.empty()) return towards_peer;
  for (const auto& card : interfaces) {
    if (card.up && !card.loopback && !is_virtual(card.name) && !is_link_local(card.address)) {
      return card.address;
    }
  }
  return names.empty() ? "localhost" : names.front().name;
}

std::string reachable_address(const std::vector<std::string>& names, const std::string& peer) {
  std::vector<ResolvedName> resolved;
  for (const auto& name : names) {
    if (name.empty()) continue;
    ResolvedName entry{.name = name};
    each_address(name, [&](const addrinfo& at) {
      entry.addresses.push_back(numeric_address(at.ai_addr));
      return false;
    });
    resolved.push_back(std::move(entry));
  }
  return choose_address(resolved, address_towards(peer), interfaces_here());
}

}  // namespace dllaunch
