// Datagrams between watchdogs: a way between nodes that needs nothing of MPI.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "support/result.hpp"
#include "support/shared_memory.hpp"

namespace dllaunch {

/// IPv6; IPv4 as ::ffff:a.b.c.d.
using HostAddress = std::array<std::uint8_t, 16>;

/// Of this host's interfaces that are up: what others may reach, no loopback, no link-local.
std::vector<HostAddress> host_addresses();

class SideChannel {
 public:
  struct From {
    HostAddress address = {};
    std::uint16_t port = 0;
  };

  /// A port that the kernel chooses, on every interface. unavailable: no sockets here.
  static Result<SideChannel> open();

  int fd() const { return socket_.get(); }
  std::uint16_t port() const { return port_; }

  /// What cannot be sent now is lost, as datagrams are.
  void send(std::span<const std::byte> bytes, const HostAddress& address, std::uint16_t port) const;
  /// The next datagram, without waiting; its first `into.size()` bytes. Nothing: none is there.
  std::optional<std::span<const std::byte>> receive(std::span<std::byte> into, From& from) const;

 private:
  FileDescriptor socket_;
  std::uint16_t port_ = 0;
  bool ipv6_ = true;
};

}  // namespace dllaunch
