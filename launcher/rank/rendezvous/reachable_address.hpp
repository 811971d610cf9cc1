// How other nodes call this one.
#pragma once

#include <string>
#include <vector>

namespace dllaunch {

struct NetworkInterface {
  std::string name = {};
  std::string address = {};  // as a number
  bool loopback = false;
  bool up = true;
};

/// A name of this node and what it resolves to here.
struct ResolvedName {
  std::string name = {};
  std::vector<std::string> addresses = {};
};

/// Pure. The first name that resolves to an interface which others can reach: many machines map
/// their own name to 127.0.1.1. Else `towards_peer`, the address this node has on its way to
/// another one; else that of the first interface that is no bridge of containers or virtual
/// machines; else the first name as it is.
std::string choose_address(const std::vector<ResolvedName>& names, const std::string& towards_peer,
                           const std::vector<NetworkInterface>& interfaces);

/// Each address of each interface; none where the kernel does not say.
std::vector<NetworkInterface> interfaces_here();

/// `names`: what Slurm and the machine call this node, the best first. `peer`: another node of the
/// job; may be empty.
std::string reachable_address(const std::vector<std::string>& names, const std::string& peer);

}  // namespace dllaunch
