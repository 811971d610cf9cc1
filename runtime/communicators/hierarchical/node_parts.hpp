// How the elements of an exchange are divided among the nodes.
#pragma once

#include <algorithm>
#include <cstddef>

namespace dllaunch {

/// Node j has elements [begin(j), begin(j + 1)). Nodes never share a cache line.
struct NodeParts {
  static NodeParts of(std::size_t count, std::size_t element_bytes, int nodes) {
    constexpr std::size_t alignment = 64;
    const std::size_t units = alignment / element_bytes * static_cast<std::size_t>(nodes);
    const std::size_t each = (count + units - 1) / units * (alignment / element_bytes);
    return {count, element_bytes, each};
  }
  std::size_t begin(int node) const {
    return std::min(count, static_cast<std::size_t>(node) * each);
  }
  std::size_t elements(int node) const { return begin(node + 1) - begin(node); }
  std::size_t offset(int node) const { return begin(node) * element_bytes; }
  std::size_t bytes(int node) const { return elements(node) * element_bytes; }

  std::size_t count = 0;
  std::size_t element_bytes = 1;
  std::size_t each = 0;
};

}  // namespace dllaunch
