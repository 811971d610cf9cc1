// A short look at how fast this process's CPUs compute and reach memory.
#pragma once

#include <chrono>

#include "support/id_set.hpp"
#include "support/result.hpp"

namespace dllaunch {

struct CpuSpeed {
  int cpus = 0;
  /// Multiply-adds per second of CPU time, the median over the CPUs of each one's best slice. CPU
  /// time, so that work of others beside ours is not taken for a slow CPU.
  double gflops = 0;
  /// Of one CPU through arrays that no cache holds: 24 bytes an element, as STREAM's triad counts.
  double gb_per_s = 0;
  /// CPU time over wall time while computing, the median over the CPUs: what others leave of them.
  double share = 1;
  /// A sum that must always be the same was.
  bool sums_agree = true;
};

struct SpeedEffort {
  std::chrono::milliseconds each{150};  // for computing, and again for memory
  std::size_t bytes_per_array = std::size_t{16} << 20;
  std::size_t most_memory_threads = 4;
};

/// One thread on each of `cpus`, all at once. unavailable: a thread cannot be bound.
Result<CpuSpeed> measure_cpu_speed(const IdSet& cpus, const SpeedEffort& effort);

}  // namespace dllaunch
