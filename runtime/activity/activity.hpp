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
#include "support/awake_clock.hpp"

namespace dllaunch {

/// A rank is in exactly one of these.
enum class RankPhase : std::uint8_t {
  start,  // everything before the first step
  data,   // waits for the next batch
  forward,
  backward,  // gradients; buckets are reduced meanwhile
  pipeline,  // waits for another stage: for its activations or gradients, or until it takes ours
  reduce,    // waits for reductions that the backward pass did not hide
  update,    // optimizer
  between,   // between steps: reports, events
  validation,
  checkpoint,
  end,  // training is over
};
constexpr std::size_t phases = 11;
std::string_view to_string(RankPhase phase);

/// Which ranks take part in a collective: all, or those of this rank's group (the replicas of a
/// pipeline's stage). Each has numbers of its own.
enum class CollectiveScope : std::uint8_t { world, group };
constexpr std::size_t collective_scopes = 2;

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
  // Collectives of a scope are numbered from 1, identically on all its ranks.
  struct Collectives {
    std::atomic<std::uint64_t> begun;  // the latest
    std::atomic<std::uint64_t> ended;  // all up to this one
  };
  std::array<Collectives, collective_scopes> collectives;
  // What the training thread waits for: the number of a collective, or the count of its waits for
  // messages, of which this one is of rank `waiting_rank` - 1. 0 while it does something else.
  std::atomic<std::uint64_t> waiting_for;
  std::atomic<std::int32_t> waiting_rank;  // 0: a collective
  std::atomic<CollectiveScope> waiting_scope;
  std::atomic<std::int64_t> waiting_since_ns;
  std::atomic<CollectiveKind> waiting_kind;
  std::atomic<std::uint64_t> waiting_bytes;

  const Collectives& in(CollectiveScope scope) const {
    return collectives[static_cast<std::size_t>(scope)];
  }
};
static_assert(std::atomic<std::uint64_t>::is_always_lock_free, "it works between processes");

std::int64_t monotonic_ns();

struct EndedCollective {
  CollectiveScope scope = CollectiveScope::world;
  std::uint64_t number = 0;  // the same on all ranks of the scope
  CollectiveKind kind = CollectiveKind::barrier;
  std::uint64_t bytes = 0;
  std::int64_t begin_ns = 0;  // this rank contributed its data
  std::int64_t end_ns = 0;    // it saw that the collective was done
};

/// Receives the training thread's activity, on that thread.
class ActivityListener {
 public:
  virtual ~ActivityListener() = default;
  /// The thread was in `phase` from `begin_ns` to `end_ns`. `micro_batch`: as in Activity::enter().
  virtual void phase_ended(RankPhase phase, int micro_batch, std::int64_t begin_ns,
                           std::int64_t end_ns) = 0;
  virtual void collective_ended(const EndedCollective& collective) = 0;
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

  /// `micro_batch`: of the step, from 0, for the timeline; negative: none.
  void enter(RankPhase phase, int micro_batch = -1);
  RankPhase phase() const { return beacon_->phase.load().phase; }
  int micro_batch() const { return micro_batch_; }
  void set_step(std::int64_t step) { beacon_->step.store(step, std::memory_order_relaxed); }

  /// Returns its number.
  std::uint64_t begin_collective(CollectiveScope scope = CollectiveScope::world);
  /// All of this scope up to `all_up_to` have ended. `collective.end_ns` is set here.
  void end_collective(EndedCollective collective, std::uint64_t all_up_to);
  void begin_wait(CollectiveScope scope, std::uint64_t number, CollectiveKind kind,
                  std::uint64_t bytes);
  /// Waits for a message of `rank`, a number in the world, or until it takes one. No collective
  /// begins or is waited for until end_wait().
  void begin_wait_for(int rank);
  void end_wait() { beacon_->waiting_for.store(0, std::memory_order_release); }

  /// Returns the seconds spent in each phase since the last call, including the current phase;
  /// without pauses of this process.
  std::array<double, phases> take_seconds();

  const Beacon& beacon() const { return *beacon_; }

 private:
  void spend();

  Beacon own_ = {};
  Beacon* beacon_;
  ActivityListener* listener_ = nullptr;
  std::array<AwakeClock::duration, phases> spent_ = {};
  AwakeClock::time_point counted_until_ = AwakeClock::now();
  int micro_batch_ = -1;        // of the current phase
  std::uint64_t messages_ = 0;  // waited for so far
};

}  // namespace dllaunch
