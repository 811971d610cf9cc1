// Sums gradients over ranks while the backward pass still runs.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "runtime/arena.hpp"
#include "runtime/communicator.hpp"

namespace dllaunch {

struct ReducerStats {
  int buckets = 0;
  int done_before_finish = 0;  // buckets whose reduction had ended when finish() was called
  double exposed_s = 0;        // time inside finish(): communication not hidden behind compute
};

/// Per step: begin(), then ready(slot) for every slot in any order (a bucket starts with its last
/// slot), progress() whenever there is a moment, finish(). Buckets start in layout order on every
/// rank, whatever the order of ready(): ranks cannot disagree about which collective comes next.
class GradientReducer {
 public:
  /// Without `overlap` everything starts in finish(). Sums in place, does not average.
  GradientReducer(Communicator& communicator, ArenaLayout layout, std::span<std::byte> gradients,
                  std::vector<Bucket> buckets, bool overlap);

  void begin();
  void ready(int slot);
  /// MPI moves data only inside its own calls: without this, buckets wait for finish().
  void progress();
  /// Waits for every bucket. die() when a slot was never ready: its gradient would stay unreduced.
  ReducerStats finish();

  /// Buckets of this step known to have ended, in order from the first.
  int done() const { return static_cast<int>(done_); }

 private:
  void start_complete_buckets();

  Communicator& communicator_;
  ArenaLayout layout_;
  std::span<std::byte> gradients_;
  std::vector<Bucket> buckets_;
  bool overlap_;
  std::vector<int> missing_;      // slots still to come, per bucket
  std::vector<int> bucket_of_;    // per slot
  std::vector<Pending> pending_;  // per started bucket
  std::size_t done_ = 0;          // of pending_, from the front
};

}  // namespace dllaunch
