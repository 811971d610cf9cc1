// What a rank is doing, said once by its training thread and read by all who watch: threads of this
// process and, where the beacon lies in shared memory, other ranks of the node.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "runtime/communicators/communicator.hpp"

namespace dllaunch {

/// A rank is in one of these at a time.
enum class RankPhase : std::uint8_t {
  start,       // everything before the first step
  data,        // waits for the next batch
  forward,     //
  backward,    // gradients, while buckets are reduced behind it
  reduce,      // waits for reductions that the backward pass did not hide
  update,      // optimiser
  between,     // steps: reports, events
  validation,  //
  checkpoint,  //
  end,         // training is over
};
constexpr std::size_t phases = 10;
std::string_view to_string(RankPhase phase);

/// Where a rank stands. Written by one thread; each field is whole, all together may be torn. Times
/// are CLOCK_MONOTONIC, which all processes of a node share. Zeroed memory is a valid start.
struct alignas(64) Beacon {
  std::atomic<std::int64_t> step;  // optimiser steps done since the beginning of the run
  std::atomic<RankPhase> phase;
  std::atomic<std::int64_t> phase_since_ns;
  // Collectives are numbered from 1, the same on all ranks.
  std::atomic<std::uint64_t> begun;  // the latest
  std::atomic<std::uint64_t> ended;  // all up to it
  // The one that the training thread waits for, 0 while it does something else.
  std::atomic<std::uint64_t> waiting_for;
  std::atomic<std::int64_t> waiting_since_ns;
  std::atomic<CollectiveKind> waiting_kind;
  std::atomic<std::uint64_t> waiting_bytes;
};
static_assert(std::atomic<std::uint64_t>::is_always_lock_free, "it works between processes");

std::int64_t monotonic_ns();

/// Hears what the training thread does, on that thread.
class ActivityListener {
 public:
  virtual ~ActivityListener() = default;
  /// The thread was in `phase` from `begin_ns` until `end_ns`.
  virtual void phase_ended(RankPhase phase, std::int64_t begin_ns, std::int64_t end_ns) = 0;
  /// `number`: the same on all ranks. `begin_ns`: this rank brought its data. `end_ns`: it saw the
  /// collective done.
  virtual void collective_ended(std::uint64_t number, CollectiveKind kind, std::uint64_t bytes,
                                std::int64_t begin_ns, std::int64_t end_ns) = 0;
};

/// The pen. One thread at a time.
class Activity {
 public:
  Activity() : beacon_(&own_) { beacon_->phase_since_ns = monotonic_ns(); }
  Activity(const Activity&) = delete;
  Activity& operator=(const Activity&) = delete;

  /// From now on it writes there. `beacon` outlives this, or publish_in_own() comes first.
  void publish_in(Beacon& beacon);
  void publish_in_own() { publish_in(own_); }
  /// nullptr: nobody. `listener` outlives this.
  void tell(ActivityListener* listener) { listener_ = listener; }

  void enter(RankPhase phase);
  RankPhase phase() const { return beacon_->phase.load(std::memory_order_relaxed); }
  void set_step(std::int64_t step) { beacon_->step.store(step, std::memory_order_relaxed); }

  std::uint64_t begin_collective();  // its number
  void end_collective(std::uint64_t number, std::uint64_t all_up_to, CollectiveKind kind,
                      std::uint64_t bytes, std::int64_t begin_ns);
  void begin_wait(std::uint64_t number, CollectiveKind kind, std::uint64_t bytes);
  void end_wait() { beacon_->waiting_for.store(0, std::memory_order_release); }

  /// Seconds spent in each phase since the latest call, the present one included; then from zero.
  std::array<double, phases> take_seconds();

  const Beacon& beacon() const { return *beacon_; }

 private:
  Beacon own_ = {};
  Beacon* beacon_;
  ActivityListener* listener_ = nullptr;
  std::array<std::int64_t, phases> spent_ns_ = {};
  std::int64_t counted_until_ns_ = monotonic_ns();
};

}  // namespace dllaunch
