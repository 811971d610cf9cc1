// The sockets that ranks find each other with, before there is a program: plain calls.
#pragma once

#include <chrono>
#include <string>

namespace dllaunch {

/// -1 where there is none; errno says why. All close on exec() and, but for what connect_*()
/// return, do not block.
int listen_here(const std::string& start_name, int node);
/// The port, 0: any.
int listen_on(int port);
int port_of(int socket);
std::string last_error();

/// Whether the other end of a connection on this node is a process of this user.
bool is_ours(int socket);

/// The desk of this node. Abstract, so nothing is left in a file system; of this user, or none.
int connect_here(const std::string& start_name, int node);
/// Whether the name leads anywhere; a name server may take seconds to say no.
bool resolves(const std::string& address);
/// Tries each address of a name for a few seconds; errno says why the last one refused.
int connect_to(const std::string& address, int port);

int milliseconds_until(std::chrono::steady_clock::time_point deadline);

/// Sends a line, returns the line that comes back, and closes. Empty: none came.
std::string exchange(int socket, const std::string& line,
                     std::chrono::steady_clock::time_point deadline);

}  // namespace dllaunch
