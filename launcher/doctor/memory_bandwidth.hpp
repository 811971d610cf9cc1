// Measures how fast CPUs access the memory of a NUMA node.
#pragma once

#include <cstddef>

#include "support/id_set.hpp"
#include "support/result.hpp"

namespace dllaunch {

struct BandwidthEffort {
  std::size_t bytes_per_array = std::size_t{16} << 20;  // of each thread; three arrays
  int repetitions = 5;                                  // the median counts
};

/// Returns GB/s of a[i] = b[i] + s * c[i] over arrays of doubles, one thread on each of `cpus`, all
/// arrays on node `numa` (-1: where Linux puts them). Counts as STREAM does: 24 bytes per element
/// (two reads and a write, without the write's line fill). 1 GB = 1e9 bytes. A repetition lasts
/// from the first thread's start to the last one's end.
/// unavailable: a thread cannot be bound, or the memory cannot be allocated.
Result<double> measure_bandwidth(const IdSet& cpus, int numa, const BandwidthEffort& effort);

}  // namespace dllaunch
