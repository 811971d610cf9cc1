// Selects the network interface that NCCL_SOCKET_IFNAME names.
#pragma once

#include <string>
#include <vector>

#include "launcher/rank/rendezvous/reachable_address.hpp"
#include "support/result.hpp"

namespace dllaunch {

/// Pure. Follows NCCL's rules: a list of prefixes; "=" selects exact names, "^" excludes. IPv4
/// before IPv6. unavailable: no matching interface is up and has an address.
Result<NetworkInterface> choose_interface(const std::string& wanted,
                                          const std::vector<NetworkInterface>& interfaces);

}  // namespace dllaunch
