// Whether ranks outnumber the CPUs they may run on: then a waiting rank must yield its CPU.
#pragma once

#include <array>
#include <cstdint>
#include <span>

namespace dllaunch {

/// One bit a CPU, for the first 1,024.
using CpuWords = std::array<std::int64_t, 16>;

/// Returns the CPUs that this thread may run on: its affinity, which a cpuset limits. All if the
/// kernel has more than 1,024.
CpuWords cpus_of_this_thread();

/// Returns true if more ranks than rank `own` has CPUs may run on these. `masks`: of the node's
/// ranks.
bool is_crowded(std::span<const CpuWords> masks, std::size_t own);

}  // namespace dllaunch
