// Positions in lists are `int`, so that -1 can mean "none"; std::vector wants std::size_t.
#pragma once

#include <cstddef>

namespace dllaunch {

/// Returns `position` as an index. Requires position >= 0.
constexpr std::size_t at(int position) {
  return static_cast<std::size_t>(position);
}

}  // namespace dllaunch
