// Slurm host lists such as "n[1-3,07],gpu-a[01-16]-ib": expands and compresses them.
// Does not ask Slurm whether the hosts exist.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "support/result.hpp"

namespace dllaunch {

/// Exceeds any Slurm cluster; keeps a typo such as n[1-1000000000] from filling memory.
constexpr std::size_t max_hosts = 131072;

/// The hosts in the order written; the rightmost bracket counts fastest and duplicates are kept. A
/// range is zero-padded to the width of its first number ("n[08-10]" is n08 n09 n10) and may have a
/// step ("n[1-9:4]" is n1 n5 n9). Blank text yields no hosts. bad_request: says what is wrong, and
/// where.
///
/// Accepts more than Slurm 22.05, which knows no steps and allows nothing after the last bracket.
Result<std::vector<std::string>> expand_hosts(std::string_view text);

/// A short host list. expand_hosts() returns exactly `hosts`, order and duplicates included; so
/// does Slurm, because names such as n01-ib are listed one by one. Names must not contain commas,
/// brackets or blanks.
std::string compress_hosts(std::span<const std::string> hosts);

/// The same for a set: each host once, in the order that people count in (n2 before n10).
std::string compress_host_set(std::vector<std::string> hosts);

}  // namespace dllaunch
