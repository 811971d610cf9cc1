// Sums gradients over ranks while the backward pass still runs.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "runtime/communicators/communicator.hpp"
#include "runtime/gradients/arena.hpp"
#include "runtime/gradients/gradient_compression.hpp"

namespace dllaunch {

struct ReducerOptions {
  bool overlap = true;  // false: everything starts in finish()
  Compression compression = Compression::none;
  /// finish() waits for the reduction of the step before, which had all of a step to end (Kurth et
  /// al. 2018).
  bool lag = false;
  /// Each rank gets only its part of each bucket, part_of(bucket, rank, ranks).
  bool scatter = false;
};

struct ReducerStats {
  int buckets = 0;
  int done_before_finish = 0;  // of those waited for: whose reduction had ended before
  double exposed_s = 0;        // time inside finish(): communication not hidden behind compute
  bool reduced = true;         // gradients are sums; false: lag, and there was no step before
};

/// Per step: begin(), then ready(slot) for every slot in any order (a bucket starts with its last
/// slot), progress() whenever there is a moment, finish(). Buckets start in layout order on every
/// rank, whatever the order of ready(): ranks cannot disagree about which collective comes next.
class GradientReducer {
 public:
  /// Collective. Sums in place, does not average. Slots that are in no bucket stay each rank's own.
  GradientReducer(Communicator& communicator, ArenaLayout layout, std::span<std::byte> gradients,
                  std::vector<Bucket> buckets, const ReducerOptions& options = {});

  /// From the next begin() on.
  void set_buckets(std::vector<Bucket> buckets);
  /// Those whose ready() starts a bucket, ascending; none where nothing has to travel.
  const std::vector<int>& last_slots() const { return last_slots_; }

  void begin();
  void ready(int slot);
  /// MPI moves data only inside its own calls: without this, buckets wait for finish().
  void progress();
  /// Waits for every bucket. die() when a slot was never ready: its gradient would stay unreduced.
  ReducerStats finish();
  /// With lag, between steps: waits for the latest one. False where there is none to wait for.
  bool drain();

  /// Buckets of this step known to have ended, in order from the first.
  int done() const { return static_cast<int>(current_.done); }

 private:
  /// A step whose buckets are being reduced.
  struct Flight {
    std::vector<Bucket> buckets = {};
    std::vector<Pending> pending = {};  // per started bucket
    std::size_t done = 0;               // of pending, from the front
    int copy = 0;                       // of the wire
  };

  void start_complete_buckets();
  Pending start(const Bucket& bucket);
  void unpack(const Flight& flight, const Bucket& bucket);
  void land(Flight& flight);

  Communicator& communicator_;
  ArenaLayout layout_;
  std::vector<Bucket> buckets_;
  std::vector<int> last_slots_;
  ReducerOptions options_;
  GradientCompressor wire_;
  std::vector<bool> ready_;       // per slot
  std::size_t ready_before_ = 0;  // slots from the front that are all ready
  Flight current_;
  Flight previous_;         // with lag
  bool in_flight_ = false;  // previous_ is a step that nobody has waited for
};

}  // namespace dllaunch
