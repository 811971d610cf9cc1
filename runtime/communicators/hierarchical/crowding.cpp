#include "runtime/communicators/hierarchical/crowding.hpp"

#include <sched.h>

#include <bit>

#include "topology/discovery/cpu_quota.hpp"

namespace dllaunch {

namespace {

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

bool overlap(const CpuWords& one, const CpuWords& other) {
  for (std::size_t i = 0; i < one.size(); ++i) {
    if ((one[i] & other[i]) != 0) return true;
  }
  return false;
}

}  // namespace

UsableCpus usable_cpus() {
  UsableCpus own{.mask = cpus_of_this_thread()};
  if (const auto quota = own_cpu_quota()) {
    own.quota = quota->whole_cpus;
    own.group = quota->group;
  }
  return own;
}

bool is_crowded(std::span<const UsableCpus> ranks, std::size_t own) {
  const UsableCpus& mine = ranks[own];
  std::int64_t cpus = 0;
  for (const std::int64_t word : mine.mask) cpus += std::popcount(static_cast<std::uint64_t>(word));
  std::int64_t on_them = 0;
  std::int64_t in_group = 0;
  for (const UsableCpus& rank : ranks) {
    if (overlap(mine.mask, rank.mask)) ++on_them;
    if (rank.group == mine.group) ++in_group;
  }
  return on_them > cpus || in_group > mine.quota;
}

}  // namespace dllaunch
