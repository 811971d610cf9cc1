// Socket calls.
#pragma once

#include <sys/socket.h>

#include <chrono>
#include <string>
#include <vector>

#include "support/awake_clock.hpp"

namespace dllaunch {

/// Return -1 on failure, with errno. All close on exec() and, except for connect_to(), do not
/// block. Port 0: any.
int listen_on(int port);
/// Takes ownership of the socket, which may be -1.
int bound_and_listening(int socket, const sockaddr* address, socklen_t size);
/// Waits that long (-1: for ever) for a connection, which blocks. Returns -1 if none came. A
/// process that has run out of descriptors leaves the connection in the queue and waits for a
/// moment: poll() would report it again at once.
int accept_within(int listener, int milliseconds);
int port_of(int socket);
/// Returns "10.0.0.7" or "fd00::7"; empty: not an address of IPv4 or IPv6, or none.
std::string numeric_address(const sockaddr* address);
/// Returns the peer's address, such as "10.0.0.7".
std::string peer_of(int socket);
/// Returns this end's address, as the peer sees it where nothing translates addresses.
std::string own_address_of(int socket);
bool is_loopback(const std::string& address);
std::string last_error();
/// Closes the socket and returns -1; preserves errno.
int closed_with_reason(int socket);

struct SocketAddress {
  sockaddr_storage address{};
  socklen_t size = 0;
};

/// Returns an empty list if the name does not resolve; a name server may take seconds.
std::vector<SocketAddress> addresses_of(const std::string& host, int port);
SocketAddress at_port(SocketAddress address, int port);
/// Starts connecting: poll() reports when it is done, SO_ERROR whether it worked.
int begin_to_connect(const SocketAddress& address);
/// Waits until what begin_to_connect() began is done. Returns the socket, which blocks from now on;
/// closes it otherwise.
int finish_connecting(int socket, std::chrono::milliseconds limit);
/// Tries each address for a few seconds; errno is that of the last one.
int connect_to(const std::vector<SocketAddress>& addresses);
int connect_to(const std::string& host, int port);

/// Reads from a line and adds to `line`, up to the newline, which is left out, and nothing beyond
/// it. Waits only if the socket blocks and nothing has come. closed: by the peer, or broken.
enum class LineState { incomplete, complete, closed };
LineState read_line(int socket, std::string& line);

int milliseconds_until(AwakeClock::time_point deadline);

/// Sends a line, returns the reply, and closes. Empty: no reply.
std::string exchange(int socket, const std::string& line, AwakeClock::time_point deadline);

}  // namespace dllaunch
