// The IDX format of MNIST: unsigned bytes in up to three dimensions.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "support/result.hpp"

namespace dllaunch {

struct IdxArray {
  std::vector<std::uint32_t> extents;  // outermost first
  std::vector<std::uint8_t> values;
};

constexpr std::uint64_t most_idx_header_bytes = 16;

/// How much of a file that begins so is worth reading: what its header promises, and one byte,
/// which shows that there are too many. A huge file may be none of this format.
std::uint64_t idx_bytes_to_read(std::span<const std::uint8_t> start);

/// Reads an IDX file, gzip-compressed or not, with exactly `dimensions` dimensions. bad_request:
/// wrong magic number, element type or number of dimensions; truncated, damaged or trailing data.
/// Allocates no more than the content can fill.
Result<IdxArray> read_idx(std::span<const std::uint8_t> content, int dimensions);

}  // namespace dllaunch
