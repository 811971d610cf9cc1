// The address by which other nodes reach this one.
#pragma once

#include <string>
#include <vector>

#include "support/network/interfaces.hpp"

namespace dllaunch {

/// A name of this node and what it resolves to here.
struct ResolvedName {
  std::string name = {};
  std::vector<std::string> addresses = {};
};

/// Pure. Returns the first name that resolves to an interface reachable from other nodes: many
/// machines map their own name to 127.0.1.1. Otherwise `towards_peer`, the local address on the
/// route to another node; otherwise the address of the first interface that is not a bridge of
/// containers or virtual machines; otherwise the first name.
std::string choose_address(const std::vector<ResolvedName>& names, const std::string& towards_peer,
                           const std::vector<NetworkInterface>& interfaces);

/// `names`: this node's names by Slurm and the machine, best first. `peer`: another node of the
/// job; may be empty.
std::string reachable_address(const std::vector<std::string>& names, const std::string& peer);

}  // namespace dllaunch
