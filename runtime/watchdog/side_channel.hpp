// Datagrams between watchdogs: communication between nodes without MPI.
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

/// IPv6, or IPv4 as ::ffff:a.b.c.d.
using HostAddress = std::array<std::uint8_t, 16>;

/// Addresses of this host's active interfaces that others may reach: no loopback, no link-local.
std::vector<HostAddress> host_addresses();

class SideChannel {
 public:
  struct From {
    HostAddress address = {};
    std::uint16_t port = 0;
  };

  /// Opens a port chosen by the kernel on every interface. unavailable: no sockets here.
  static Result<SideChannel> open();

  int fd() const { return socket_.get(); }
  std::uint16_t port() const { return port_; }

  /// Drops what cannot be sent now.
  void send(std::span<const std::byte> bytes, const HostAddress& address, std::uint16_t port) const;
  /// Returns the first `into.size()` bytes of the next datagram; nullopt if none is queued.
  /// Non-blocking.
  std::optional<std::span<const std::byte>> receive(std::span<std::byte> into, From& from) const;

 private:
  FileDescriptor socket_;
  std::uint16_t port_ = 0;
  bool ipv6_ = true;
};

}  // namespace dllaunch
