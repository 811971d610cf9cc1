// Whether ranks outnumber the CPUs they may run on: then a waiting rank must yield its CPU.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>

namespace dllaunch {

/// One bit a CPU, for the first 1,024.
using CpuWords = std::array<std::int64_t, 16>;

/// What one rank may use. Numbers of one type, since ranks gather them.
struct UsableCpus {
  CpuWords mask = {};
  std::int64_t quota = std::numeric_limits<std::int64_t>::max();  // whole CPUs, of all of `group`
  std::int64_t group = 0;  // the control group with the smallest quota; 0: none
};

/// Returns what this thread may use: its affinity, which a cpuset limits, and the quota of its
/// control group. All CPUs if the kernel has more than 1,024.
UsableCpus usable_cpus();

/// Returns true if more ranks than rank `own` has CPUs may run on these, or if its group has more
/// ranks than whole CPUs of quota: three ranks that spin on a quota of 2.5 use it up before the
/// period ends, and then all three stand still. `ranks`: those of the node.
bool is_crowded(std::span<const UsableCpus> ranks, std::size_t own);

}  // namespace dllaunch
