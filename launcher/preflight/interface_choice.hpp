// Which network interface NCCL_SOCKET_IFNAME means.
#pragma once

#include <string>
#include <vector>

#include "launcher/rank/rendezvous/reachable_address.hpp"
#include "support/result.hpp"

namespace dllaunch {

/// Pure. NCCL's rules: a list of prefixes, "=" before it for whole names, "^" for all but these.
/// IPv4 before IPv6. unavailable: none that is up, has an address and is named so.
Result<NetworkInterface> choose_interface(const std::string& wanted,
                                          const std::vector<NetworkInterface>& interfaces);

}  // namespace dllaunch
