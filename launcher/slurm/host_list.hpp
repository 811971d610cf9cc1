// Slurm's way to write many host names: "n[1-3,07],gpu-a[01-16]-ib", both ways.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "support/result.hpp"

namespace dllaunch {

/// More than any Slurm cluster has; a typo such as n[1-1000000000] must not fill the memory.
constexpr std::size_t max_hosts = 131072;

/// In the order written, the rightmost bracket counting fastest; duplicates are kept. A range is
/// padded with zeros to the width of its first number: "n[08-10]" is n08 n09 n10; it may have a
/// step: "n[1-9:4]" is n1 n5 n9. Text that is empty or blank is no host. bad_request: says what is
/// wrong, and where.
///
/// This is more than Slurm 22.05 itself takes: no step there, and nothing behind the last bracket.
Result<std::vector<std::string>> expand_hosts(std::string_view text);

/// Short, and expand_hosts() gives back exactly `hosts`, order and duplicates included; so does
/// Slurm, which gets names like n01-ib one by one. Names must be free of commas, brackets and
/// blanks.
std::string compress_hosts(std::span<const std::string> hosts);

}  // namespace dllaunch
