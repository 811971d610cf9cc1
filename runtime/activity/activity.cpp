#include "runtime/activity/activity.hpp"

#include <chrono>
#include <utility>

namespace dllaunch {

std::string_view to_string(RankPhase phase) {
  switch (phase) {
    case RankPhase::start:
      return "start";
    case RankPhase::data:
      return "data";
    case RankPhase::forward:
      return "forward";
    case RankPhase::backward:
      return "backward";
    case RankPhase::pipeline:
      return "pipeline";
    case RankPhase::reduce:
      return "reduce";
    case RankPhase::update:
      return "update";
    case RankPhase::between:
      return "between steps";
    case RankPhase::validation:
      return "validation";
    case RankPhase::checkpoint:
      return "checkpoint";
    case RankPhase::end:
      return "end";
  }
  return "";
}

std::int64_t monotonic_ns() {
  // steady_clock is CLOCK_MONOTONIC on Linux.
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::nanoseconds>(now).count();
}

void Activity::spend() {
  const auto now = AwakeClock::now();
  spent_[static_cast<std::size_t>(phase())] += now - std::exchange(counted_until_, now);
}

void Activity::publish_in(Beacon& beacon) {
  const auto copy = [](auto& to, const auto& from) { to.store(from.load()); };
  copy(beacon.step, beacon_->step);
  beacon.phase.store(beacon_->phase.load());
  for (std::size_t i = 0; i < collective_scopes; ++i) {
    copy(beacon.collectives[i].begun, beacon_->collectives[i].begun);
    copy(beacon.collectives[i].ended, beacon_->collectives[i].ended);
  }
  copy(beacon.waiting_since_ns, beacon_->waiting_since_ns);
  copy(beacon.waiting_rank, beacon_->waiting_rank);
  copy(beacon.waiting_scope, beacon_->waiting_scope);
  copy(beacon.waiting_kind, beacon_->waiting_kind);
  copy(beacon.waiting_bytes, beacon_->waiting_bytes);
  copy(beacon.waiting_for, beacon_->waiting_for);
  beacon_ = &beacon;
}

void Activity::enter(RankPhase phase, int micro_batch) {
  const std::int64_t now = monotonic_ns();
  const PhaseEntry before = beacon_->phase.load();
  if (listener_ != nullptr) {
    listener_->phase_ended(before.phase, micro_batch_, before.since_ns, now);
  }
  spend();
  micro_batch_ = micro_batch;
  beacon_->phase.store({.phase = phase, .since_ns = now});
}

std::uint64_t Activity::begin_collective(CollectiveScope scope) {
  auto& begun = beacon_->collectives[static_cast<std::size_t>(scope)].begun;
  const std::uint64_t number = begun.load(std::memory_order_relaxed) + 1;
  begun.store(number, std::memory_order_release);
  return number;
}

void Activity::end_collective(EndedCollective collective, std::uint64_t all_up_to) {
  beacon_->collectives[static_cast<std::size_t>(collective.scope)].ended.store(
      all_up_to, std::memory_order_release);
  if (listener_ == nullptr) return;
  collective.end_ns = monotonic_ns();
  listener_->collective_ended(collective);
}

// The beginning of a wait is stored before all else of it: a reader that loads it last, and pairs
// it with an older wait, sees a wait that has only just begun.
void Activity::begin_wait(CollectiveScope scope, std::uint64_t number, CollectiveKind kind,
                          std::uint64_t bytes) {
  beacon_->waiting_since_ns.store(monotonic_ns(), std::memory_order_relaxed);
  beacon_->waiting_scope.store(scope, std::memory_order_release);
  beacon_->waiting_rank.store(0, std::memory_order_release);
  beacon_->waiting_kind.store(kind, std::memory_order_relaxed);
  beacon_->waiting_bytes.store(bytes, std::memory_order_relaxed);
  beacon_->waiting_for.store(number, std::memory_order_release);
}

void Activity::begin_wait_for(int rank) {
  beacon_->waiting_since_ns.store(monotonic_ns(), std::memory_order_relaxed);
  beacon_->waiting_rank.store(rank + 1, std::memory_order_release);
  beacon_->waiting_for.store(++messages_, std::memory_order_release);
}

std::array<double, phases> Activity::take_seconds() {
  spend();
  std::array<double, phases> seconds = {};
  for (std::size_t i = 0; i < phases; ++i)
    seconds[i] = std::chrono::duration<double>(spent_[i]).count();
  spent_ = {};
  return seconds;
}

}  // namespace dllaunch
