// The network interfaces of this machine, and which of them NCCL_SOCKET_IFNAME means.
#pragma once

#include <string>
#include <vector>

namespace dllaunch {

/// An address of an interface; one that has several is listed for each.
struct NetworkInterface {
  std::string name = {};
  std::string address = {};  // numeric
  bool loopback = false;
  bool up = true;
};

/// Returns every address of every interface; empty if the kernel does not report them.
std::vector<NetworkInterface> interfaces_here();

/// Pure. The addresses of the interfaces that are up and that NCCL_SOCKET_IFNAME=`wanted` means, by
/// NCCL's rules: a list of prefixes; "=" selects exact names, "^" excludes. IPv4 before IPv6,
/// without link-local ones of IPv6.
std::vector<NetworkInterface> interfaces_meant(const std::string& wanted,
                                               const std::vector<NetworkInterface>& interfaces);

}  // namespace dllaunch
