// Gradients: sums gradients over ranks while the backward pass still runs.
// Computes no gradients and updates no parameters; it sees only slots of a flat array.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "runtime/communicators/communicator.hpp"
#include "runtime/gradients/arena.hpp"
#include "runtime/gradients/gradient_compression.hpp"

namespace dllaunch {

struct ReducerOptions {
  bool overlap = true;  // false: all communication starts in finish()
  Compression compression = Compression::none;
  /// finish() waits for the reduction of the previous step, which had a whole step to complete
  /// (Kurth et al. 2018).
  bool lag = false;
  /// Each rank gets only its part of each bucket, part_of(bucket, rank, ranks).
  bool scatter = false;
};

struct ReducerStats {
  int buckets = 0;
  int done_before_finish = 0;  // awaited buckets whose reduction had already ended
  double exposed_s = 0;        // time in finish(): communication not hidden by computation
  bool reduced = true;         // gradients are sums; false: lag, and there was no previous step
};

/// Each step calls begin(), then ready(slot) for every slot in any order (a bucket starts with its
/// last slot), progress() whenever convenient, and finish(). Buckets start in layout order on every
/// rank whatever the order of ready(), so ranks cannot disagree about the next collective.
class GradientReducer {
 public:
  /// Collective. Sums in place, without averaging. Slots in no bucket stay local to each rank.
  GradientReducer(Communicator& communicator, ArenaLayout layout, std::span<std::byte> gradients,
                  std::vector<Bucket> buckets, const ReducerOptions& options = {});

  /// Takes effect at the next begin().
  void set_buckets(std::vector<Bucket> buckets);
  /// Slots whose ready() starts a bucket, ascending; empty if nothing is sent.
  const std::vector<int>& last_slots() const { return last_slots_; }

  void begin();
  void ready(int slot);
  /// Call it during the backward pass: MPI moves data only inside its own calls.
  void progress();
  /// Waits for every bucket. die() if a slot was never ready: its gradient would stay unreduced.
  ReducerStats finish();
  /// Like finish(), but the GPU waits: work given to it from now on follows the reduction. Call
  /// settle() before the next finish. Returns false, having done nothing, where only finish() can:
  /// on the host, with lag or compression.
  bool finish_on_gpu();
  /// Waits for the step of finish_on_gpu(), if any.
  void settle();
  /// With lag, between steps: waits for the last one. Returns false if there is none.
  bool drain();

  /// The number of leading buckets of this step known to have ended.
  int done() const { return static_cast<int>(current_.done); }

 private:
  /// A step whose buckets are being reduced.
  struct Flight {
    std::vector<Bucket> buckets = {};
    std::vector<Pending> pending = {};  // by started bucket
    std::size_t done = 0;               // of pending, from the front
    int copy = 0;                       // index of the wire copy
  };

  void start_complete_buckets();
  void start_all_buckets();
  Pending start(const Bucket& bucket);
  void unpack(const Flight& flight, const Bucket& bucket);
  void land(Flight& flight);

  Communicator& communicator_;
  ArenaLayout layout_;
  std::vector<Bucket> buckets_;
  std::vector<int> last_slots_;
  ReducerOptions options_;
  GradientCompressor wire_;
  std::vector<bool> ready_;       // by slot
  std::size_t ready_before_ = 0;  // leading slots that are all ready
  Flight current_;
  Flight previous_;         // with lag
  Flight on_gpu_;           // after finish_on_gpu()
  bool in_flight_ = false;  // previous_ has not been waited for
};

}  // namespace dllaunch
