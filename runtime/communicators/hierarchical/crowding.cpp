#include "runtime/communicators/hierarchical/crowding.hpp"

#include <sched.h>

#include <algorithm>
#include <bit>

namespace dllaunch {

CpuWords cpus_of_this_thread() {
  CpuWords words = {};
  cpu_set_t set;
  CPU_ZERO(&set);
  if (::sched_getaffinity(0, sizeof set, &set) != 0) {
    words.fill(-1);
    return words;
  }
  for (std::size_t cpu = 0; cpu < 64 * words.size(); ++cpu) {
    if (CPU_ISSET(cpu, &set)) words[cpu / 64] |= std::int64_t(std::uint64_t{1} << (cpu % 64));
  }
  return words;
}

bool is_crowded(std::span<const CpuWords> masks, std::size_t own) {
  const CpuWords& mine = masks[own];
  int cpus = 0;
  for (const std::int64_t word : mine) cpus += std::popcount(static_cast<std::uint64_t>(word));
  const auto ranks = std::ranges::count_if(masks, [&](const CpuWords& theirs) {
    for (std::size_t i = 0; i < mine.size(); ++i) {
      if ((mine[i] & theirs[i]) != 0) return true;
    }
    return false;
  });
  return ranks > cpus;
}

}  // namespace dllaunch
