// How fast a communicator reduces, and whether it does so correctly.
#pragma once

#include <cstddef>
#include <functional>
#include <string>

#include "runtime/communicators/communicator.hpp"

namespace dllaunch {

struct AllReduceBench {
  std::size_t min_bytes = 4;
  std::size_t max_bytes = std::size_t{64} << 20;
  int iterations = 20;  // calls in one repetition; the lowest of 5 repetitions counts
};

struct AllReduceRow {
  std::string communicator;
  int ranks = 1;
  std::size_t bytes = 0;  // of fp32, on each rank
  double us = 0;          // a call, on the slowest rank
  /// bytes / us, in 1e9 bytes a second; and what the links must have carried, times 2 (n - 1)/n:
  /// as nccl-tests defines them (doc/PERFORMANCE.md there).
  double algbw_gbs = 0;
  double busbw_gbs = 0;
  bool correct = false;    // every element on every rank
  bool projected = false;  // not measured: what more nodes would take
};

/// Collective. The sizes min_bytes x 2^k up to max_bytes, each told as soon as it is measured, the
/// same on every rank. A call begins when each rank has its own input in memory that the
/// communicator allocated, and ends when every rank has the result: both waits are inside.
/// min_bytes is a multiple of 4, at least 4.
void measure_all_reduce(Communicator& communicator, const AllReduceBench& bench,
                        const std::function<void(const AllReduceRow&)>& tell);

/// nccl-tests' columns. The first line names them and their units.
std::string all_reduce_table_head();
std::string to_table_line(const AllReduceRow& row);
/// {"backend", "ranks", "bytes", "us", "algbw_gbs", "busbw_gbs", "correct"}; of a projected
/// row the last is null, and "projected" is true.
std::string to_json(const AllReduceRow& row);

}  // namespace dllaunch
