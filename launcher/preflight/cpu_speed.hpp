// Measures briefly how fast this process's CPUs compute and access memory.
#pragma once

#include <chrono>

#include "support/id_set.hpp"
#include "support/result.hpp"

namespace dllaunch {

struct CpuSpeed {
  int cpus = 0;
  /// Multiply-adds per second of CPU time: the median over the CPUs of each one's best slice. CPU
  /// time, so that other load does not make a CPU look slow.
  double gflops = 0;
  /// Per CPU, over arrays larger than the caches: 24 bytes an element, counted as in STREAM's
  /// triad.
  double gb_per_s = 0;
  /// CPU time over wall time while computing, the median over the CPUs.
  double share = 1;
  /// A sum that must be constant was.
  bool sums_agree = true;
};

struct SpeedEffort {
  std::chrono::milliseconds each{150};  // for arithmetic, and again for memory
  std::size_t bytes_per_array = std::size_t{16} << 20;
  std::size_t most_memory_threads = 4;
};

/// Measures with one thread on each of `cpus`, in parallel. unavailable: a thread cannot be bound.
Result<CpuSpeed> measure_cpu_speed(const IdSet& cpus, const SpeedEffort& effort);

}  // namespace dllaunch
