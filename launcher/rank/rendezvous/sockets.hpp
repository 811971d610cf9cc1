// The sockets that ranks find each other with, before there is a program: plain calls.
#pragma once

#include <sys/socket.h>

#include <chrono>
#include <string>
#include <vector>

namespace dllaunch {

/// -1 where there is none; errno says why. All close on exec() and, but for what connect_to()
/// returns, do not block. Port 0: any.
int listen_on(int port);
/// Takes the socket, which may be -1.
int bound_and_listening(int socket, const sockaddr* address, socklen_t size);
int port_of(int socket);
/// "10.0.0.7", of the other end.
std::string peer_of(int socket);
std::string last_error();
/// -1; errno stays what it is.
int closed_with_reason(int socket);

struct SocketAddress {
  sockaddr_storage address{};
  socklen_t size = 0;
};

/// None where the name leads nowhere; a name server may take seconds to say so.
std::vector<SocketAddress> addresses_of(const std::string& host, int port);
SocketAddress at_port(SocketAddress address, int port);
/// Not connected yet: poll() says when; SO_ERROR says whether.
int begin_to_connect(const SocketAddress& address);
/// Tries each address of a name for a few seconds; errno says why the last one refused.
int connect_to(const std::string& host, int port);

int milliseconds_until(std::chrono::steady_clock::time_point deadline);

/// Sends a line, returns the line that comes back, and closes. Empty: none came.
std::string exchange(int socket, const std::string& line,
                     std::chrono::steady_clock::time_point deadline);

}  // namespace dllaunch
