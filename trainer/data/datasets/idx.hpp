// The IDX format of the MNIST family: unsigned bytes in up to three dimensions.
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

/// Reads a whole IDX file, gzip'd or not, with exactly `dimensions` dimensions.
/// bad_request: a wrong magic number, element type or number of dimensions, data that is truncated,
/// damaged or followed by more. Never allocates more than the content can fill.
Result<IdxArray> read_idx(std::span<const std::uint8_t> content, int dimensions);

}  // namespace dllaunch
