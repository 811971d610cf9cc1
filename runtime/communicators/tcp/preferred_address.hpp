// The address to which a rank's messages should come: that of the network card near its GPU.
#pragma once

#include <string>
#include <vector>

#include "runtime/rank/rank_env.hpp"
#include "support/network/interfaces.hpp"

namespace dllaunch {

constexpr const char* nic_variable = "DLLAUNCH_NIC";

/// The network interfaces of a card, which may be called after one ("hsn0") or be an RDMA device
/// ("mlx5_0"); with the bond that one belongs to. `sys`: /sys. Empty: none, or no such card.
std::vector<std::string> interfaces_of_card(const std::string& card, const std::string& sys);

/// Pure. The address of the first of `of_card` that NCCL_SOCKET_IFNAME=`wanted` allows; if none is
/// left, of the first interface that it names. Empty: none. Not the loopback.
std::string choose_preferred(const std::vector<std::string>& of_card, const std::string& wanted,
                             const std::vector<NetworkInterface>& here);

/// By DLLAUNCH_NIC and NCCL_SOCKET_IFNAME, on this machine.
std::string preferred_address(const EnvLookup& lookup);

}  // namespace dllaunch
