// Activity: what a rank is doing now, recorded by its training thread.
// Does not judge or report it: the watchdog, the timeline and the straggler report read it.
//
// Readers are threads of this process and, if the beacon is in shared memory, other ranks of the
// node.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "runtime/communicators/communicator.hpp"

namespace dllaunch {

/// A rank is in exactly one of these.
enum class RankPhase : std::uint8_t {
  start,  // everything before the first step
  data,   // waits for the next batch
  forward,
  backward,  // gradients; buckets are reduced meanwhile
  reduce,    // waits for reductions that the backward pass did not hide
  update,    // optimizer
  between,   // between steps: reports, events
  validation,
  checkpoint,
  end,  // training is over
};
constexpr std::size_t phases = 10;
std::string_view to_string(RankPhase phase);

/// What a rank does, and since when.
struct PhaseEntry {
  RankPhase phase = RankPhase::start;
  std::int64_t since_ns = 0;  // 0 .. 2^60 - 1, 36 years
};

/// One word, so that a reader never pairs a phase with the age of another. Zeroed memory is a valid
/// initial value.
class AtomicPhase {
 public:
  PhaseEntry load() const {
    const std::int64_t word = word_.load(std::memory_order_acquire);
    return {.phase = static_cast<RankPhase>(word & phase_mask), .since_ns = word >> phase_bits};
  }
  void store(PhaseEntry entry) {
    word_.store(entry.since_ns << phase_bits | static_cast<std::int64_t>(entry.phase),
                std::memory_order_release);
  }

 private:
  static constexpr int phase_bits = 4;
  static constexpr std::int64_t phase_mask = (std::int64_t{1} << phase_bits) - 1;
  static_assert(phases <= phase_mask);
  std::atomic<std::int64_t> word_;
};

/// A rank's position. Written by one thread; each field is atomic, all together are not. Times are
/// CLOCK_MONOTONIC, which all processes of a node share. Zeroed memory is a valid initial value.
struct alignas(64) Beacon {
  std::atomic<std::int64_t> step;  // optimizer steps since the beginning of the run
  AtomicPhase phase;
  // Collectives are numbered from 1, identically on all ranks.
  std::atomic<std::uint64_t> begun;  // the latest
  std::atomic<std::uint64_t> ended;  // all up to this one
  // The collective that the training thread waits for; 0 while it does something else.
  std::atomic<std::uint64_t> waiting_for;
  std::atomic<std::int64_t> waiting_since_ns;
  std::atomic<CollectiveKind> waiting_kind;
  std::atomic<std::uint64_t> waiting_bytes;
};
static_assert(std::atomic<std::uint64_t>::is_always_lock_free, "it works between processes");

std::int64_t monotonic_ns();

/// Receives the training thread's activity, on that thread.
class ActivityListener {
 public:
  virtual ~ActivityListener() = default;
  /// The thread was in `phase` from `begin_ns` to `end_ns`.
  virtual void phase_ended(RankPhase phase, std::int64_t begin_ns, std::int64_t end_ns) = 0;
  /// `number` is the same on all ranks. `begin_ns`: this rank contributed its data. `end_ns`: it
  /// saw that the collective was done.
  virtual void collective_ended(std::uint64_t number, CollectiveKind kind, std::uint64_t bytes,
                                std::int64_t begin_ns, std::int64_t end_ns) = 0;
};

/// Writes the beacon. One thread at a time.
class Activity {
 public:
  Activity() : beacon_(&own_) { own_.phase.store({.since_ns = monotonic_ns()}); }
  Activity(const Activity&) = delete;
  Activity& operator=(const Activity&) = delete;

  /// Switches to `beacon`, which must outlive this object or the call of publish_in_own().
  void publish_in(Beacon& beacon);
  void publish_in_own() { publish_in(own_); }
  /// nullptr removes the listener. `listener` must outlive this object.
  void tell(ActivityListener* listener) { listener_ = listener; }

  void enter(RankPhase phase);
  RankPhase phase() const { return beacon_->phase.load().phase; }
  void set_step(std::int64_t step) { beacon_->step.store(step, std::memory_order_relaxed); }

  std::uint64_t begin_collective();  // returns its number
  void end_collective(std::uint64_t number, std::uint64_t all_up_to, CollectiveKind kind,
                      std::uint64_t bytes, std::int64_t begin_ns);
  void begin_wait(std::uint64_t number, CollectiveKind kind, std::uint64_t bytes);
  void end_wait() { beacon_->waiting_for.store(0, std::memory_order_release); }

  /// Returns the seconds spent in each phase since the last call, including the current phase.
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
