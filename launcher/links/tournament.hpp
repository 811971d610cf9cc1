// Which hosts are paired in which round. Pure.
#pragma once

#include <cstddef>
#include <vector>

#include "launcher/links/link_survey.hpp"

namespace dllaunch {

/// Up to this many hosts, every pair is measured.
constexpr std::size_t most_hosts_for_all_pairs = 16;
/// Few hosts have few rounds, which are repeated: load may spoil one.
constexpr std::size_t fewest_rounds = 6;

/// The rounds for `hosts` hosts. In the round of mask m, host i is paired with i XOR m, both ways:
/// masks 1, 2, 4 ... first (each halves the hosts another way), then the others, if every pair is
/// measured. So log2(hosts) rounds, rounded up, or hosts - 1, rounded up to a power of two less
/// one. Hosts whose partner does not exist are paired with each other, as far as they are even.
std::vector<LinkOrder> tournament_rounds(std::size_t hosts);

}  // namespace dllaunch
