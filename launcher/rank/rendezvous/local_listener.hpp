// The sockets by which ranks of one user on one node find each other.
#pragma once

#include <istream>
#include <string>
#include <vector>

namespace dllaunch {

/// -1: none; errno says why, EADDRINUSE where this user has such a listener already. Does not
/// block, closes on exec(). Abstract, so nothing is left in a file system. Anybody may hold the
/// usual name of a start first: then it gets one with a random end.
int listen_here(const std::string& start_name, int node);

/// A listener of this user, or -1. `look_around`: whether to search for a name with a random end
/// even if the usual one is free, because who held it may have left.
int connect_here(const std::string& start_name, int node, bool look_around);

/// Whether the other end of a connection on this node is a process of this user.
bool is_ours(int socket);

/// Pure: the abstract names that begin so and are listened at, in the format of /proc/net/unix.
std::vector<std::string> listening_names(std::istream& sockets, const std::string& beginning);

}  // namespace dllaunch
