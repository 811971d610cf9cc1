// Abstract unix sockets by which one user's ranks on a node find each other.
#pragma once

#include <istream>
#include <string>
#include <vector>

namespace dllaunch {

/// Returns a listening socket, or -1 with errno; EADDRINUSE: this user has such a listener already.
/// Non-blocking, closed on exec(). Abstract, so it leaves no file. If another user holds the usual
/// name, a random suffix is added.
int listen_here(const std::string& start_name, int node);

/// Returns a connection to this user's listener, or -1. `look_around`: search for a name with a
/// random suffix even if the usual one is free, because its holder may have exited.
int connect_here(const std::string& start_name, int node, bool look_around);

/// Whether the peer on this node is a process of this user.
bool is_ours(int socket);

/// Pure. Returns the listening abstract names with this prefix, from text in the format of
/// /proc/net/unix.
std::vector<std::string> listening_names(std::istream& sockets, const std::string& beginning);

}  // namespace dllaunch
