// Which way between nodes is the fastest for which size, measured on the nodes at hand.
#pragma once

#include <cstddef>
#include <optional>
#include <span>

#include "runtime/communicators/hierarchical/column.hpp"

namespace dllaunch {

/// Microseconds of an all-reduce of `bytes`, each way.
struct WayTimes {
  std::size_t bytes = 0;
  double whole = 0;
  double parts = 0;
  double mpi = 0;
};

/// Sizes ascending. A way is left where another is faster by more than a tenth: less is noise.
ColumnLimits choose_limits(std::span<const WayTimes> times, ColumnLimits otherwise);

/// Collective over `world`; `column` is nullptr on ranks that have none, and has finished what it
/// had. Takes half a second at most, and a size less where that is not enough.
ColumnLimits measure_limits(const Peers& world, Column* column);

}  // namespace dllaunch
