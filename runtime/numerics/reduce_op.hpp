// How a collective combines the elements of the ranks.
#pragma once

#include <cstdint>
#include <string_view>

namespace dllaunch {

/// average: the sum divided by size(), integers truncated toward zero; bytes wrap, so their average
/// is meaningless. hierarchical adds 16-bit floats in fp32 within a node and rounds once; mpi and
/// ring round at every pair. min and max are NaN if any rank has one.
enum class ReduceOp : std::uint8_t { sum, average, min, max };

constexpr std::string_view to_string(ReduceOp op) {
  switch (op) {
    case ReduceOp::sum:
      return "sum";
    case ReduceOp::average:
      return "average";
    case ReduceOp::min:
      return "min";
    case ReduceOp::max:
      return "max";
  }
  return "";
}

}  // namespace dllaunch
