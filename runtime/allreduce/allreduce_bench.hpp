// All-reduce bench: measures how fast a communicator reduces, and checks its results.
// Does not choose a communicator and takes no part in training.
#pragma once

#include <cstddef>
#include <functional>
#include <string>

#include "runtime/communicators/communicator.hpp"

namespace dllaunch {

struct AllReduceBench {
  std::size_t min_bytes = 4;
  std::size_t max_bytes = std::size_t{64} << 20;
  int iterations = 20;  // calls in one repetition; the fastest of 5 repetitions counts
};

struct AllReduceRow {
  std::string communicator;
  int ranks = 1;
  std::size_t bytes = 0;  // of fp32, on each rank
  double us = 0;          // per call, on the slowest rank
  /// As defined by nccl-tests (doc/PERFORMANCE.md there), in 1e9 bytes/s: bytes / us, and the same
  /// times 2 (n - 1)/n, which the links must have carried.
  double algbw_gbs = 0;
  double busbw_gbs = 0;
  bool correct = false;    // every element on every rank
  bool projected = false;  // not measured: a prediction for more nodes
};

/// Collective. Measures the sizes min_bytes x 2^k up to max_bytes and reports each row as soon as
/// it is known, identical on every rank. A call begins when each rank has its input in memory
/// allocated by the communicator, and ends when every rank has the result; both waits are included.
/// min_bytes is a multiple of 4, at least 4.
void measure_all_reduce(Communicator& communicator, const AllReduceBench& bench,
                        const std::function<void(const AllReduceRow&)>& tell);

/// The columns of nccl-tests. The first line has their names and units.
std::string all_reduce_table_head();
std::string to_table_line(const AllReduceRow& row);
/// {"backend", "ranks", "bytes", "us", "algbw_gbs", "busbw_gbs", "correct"}; in a projected row
/// "correct" is null and "projected" is true.
std::string to_json(const AllReduceRow& row);

}  // namespace dllaunch
