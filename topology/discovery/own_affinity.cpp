#include "topology/discovery/own_affinity.hpp"

#include <cerrno>
#include <cstdint>
#include <vector>

#include <sched.h>

namespace dllaunch {

IdSet own_affinity() {
  // The kernel rejects sets smaller than its own.
  for (int cpus = 1024; cpus <= 1 << 20; cpus *= 2) {
    const auto bytes = CPU_ALLOC_SIZE(cpus);
    std::vector<std::uint64_t> words(bytes / sizeof(std::uint64_t), 0);
    if (sched_getaffinity(0, bytes, reinterpret_cast<cpu_set_t*>(words.data())) == 0) {
      IdSet set;
      for (int cpu = 0; cpu < cpus && cpu <= IdSet::max_id; ++cpu)
        if ((words[static_cast<std::size_t>(cpu) / 64] >> (cpu % 64)) & 1) set.insert(cpu);
      return set;
    }
    if (errno != EINVAL) break;
  }
  return {};
}

}  // namespace dllaunch
