// A port for ranks that are to meet over TCP.
#pragma once

#include <netinet/in.h>
#include <sys/socket.h>

#include "support/network/sockets.hpp"
#include "support/shared_memory.hpp"

namespace dllaunch {

/// It is bound and not listened on, as `dllaunch exec` leaves it to rank 0's program.
class HeldPort {
 public:
  HeldPort() : socket_(::socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    const int on = 1;
    const int off = 0;
    ::setsockopt(socket_.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    ::setsockopt(socket_.get(), IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof off);
    sockaddr_in6 any{};
    any.sin6_family = AF_INET6;
    static_cast<void>(::bind(socket_.get(), reinterpret_cast<const sockaddr*>(&any), sizeof any));
  }
  /// 0: there is none.
  int port() const { return port_of(socket_.get()); }

 private:
  FileDescriptor socket_;
};

}  // namespace dllaunch
