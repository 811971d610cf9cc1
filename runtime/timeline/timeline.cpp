#include "runtime/timeline/timeline.hpp"

#include <pthread.h>

#include <algorithm>
#include <chrono>
#include <utility>

#include "support/all_signals_blocked.hpp"

namespace dllaunch {
namespace {

constexpr std::size_t ring_entries = 8192;
constexpr std::chrono::milliseconds period{100};

std::uint64_t number_in_file(CollectiveScope scope, std::uint64_t number) {
  return scope == CollectiveScope::group ? first_group_collective + number : number;
}

}  // namespace

std::string_view span_name(RankPhase phase) {
  switch (phase) {
    case RankPhase::start:
      return "START";
    case RankPhase::data:
      return "LOAD_DATA";
    case RankPhase::forward:
      return "FORWARD";
    case RankPhase::backward:
      return "BACKWARD";
    case RankPhase::pipeline:
      return "WAIT_FOR_STAGE";
    case RankPhase::reduce:
      return "WAIT_FOR_ALLREDUCE";
    case RankPhase::update:
      return "UPDATE";
    case RankPhase::between:
      return "BETWEEN_STEPS";
    case RankPhase::validation:
      return "VALIDATION";
    case RankPhase::checkpoint:
      return "CHECKPOINT";
    case RankPhase::end:
      return "END";
  }
  return "";
}

std::string_view span_name(CollectiveKind kind) {
  switch (kind) {
    case CollectiveKind::all_reduce:
      return "ALLREDUCE";
    case CollectiveKind::reduce_scatter:
      return "REDUCESCATTER";
    case CollectiveKind::all_gather:
      return "ALLGATHER";
    case CollectiveKind::broadcast:
      return "BROADCAST";
    case CollectiveKind::barrier:
      return "BARRIER";
  }
  return "";
}

Timeline::Timeline(TimelineOptions options, const Activity& activity)
    : options_(std::move(options)),
      beacon_(activity.beacon()),
      file_(options_.path, options_.head, options_.most_spans, options_.warn),
      track_ends_(timeline_tracks) {}

Timeline::~Timeline() {
  recording_ = false;
  if (!writer_.joinable()) return;
  {
    const std::lock_guard lock(mutex_);
    ending_ = true;
  }
  changed_.notify_one();
  writer_.join();
}

void Timeline::start() {
  if (running()) return;
  {
    // The writing thread holds it only briefly, never while it writes.
    const std::lock_guard lock(mutex_);
    recording_ = true;
  }
  changed_.notify_one();
  if (writer_.joinable()) return;
  ring_.resize(ring_entries);
  const AllSignalsBlocked blocked;
  writer_ = std::thread([this] { write_on(); });
}

void Timeline::stop() {
  recording_ = false;
}

void Timeline::add_clock(const ClockBounds& bounds) {
  const std::lock_guard lock(mutex_);
  clocks_.push_back(bounds);
  // The recording may never start; a start would need the first and the latest bounds.
  if (clocks_.size() > timeline_clock_slots) clocks_.erase(clocks_.begin() + 1);
}

void Timeline::put(const Entry& entry) {
  const std::uint64_t at = put_.load(std::memory_order_relaxed);
  const std::uint64_t waiting = at - taken_.load(std::memory_order_acquire);
  if (waiting == ring_entries) {
    dropped_.fetch_add(1, std::memory_order_relaxed);
    return;
  }
  ring_[at % ring_entries] = entry;
  put_.store(at + 1, std::memory_order_release);
  if (waiting == ring_entries / 2) changed_.notify_one();
}

void Timeline::phase_ended(RankPhase phase, int micro_batch, std::int64_t begin_ns,
                           std::int64_t end_ns) {
  if (options_.switches != nullptr) {
    const unsigned switches = options_.switches->load(std::memory_order_relaxed);
    const bool odd = (switches - switches_seen_) % 2 == 1;
    switches_seen_ = switches;
    if (odd && running()) {
      stop();
    } else if (odd) {
      start();
    }
  }
  if (!running()) return;
  put({.begin_ns = begin_ns,
       .end_ns = end_ns,
       .step = beacon_.step.load(std::memory_order_relaxed),
       .number = static_cast<std::uint64_t>(std::max(micro_batch, -1) + 1),
       .what = static_cast<std::uint8_t>(phase)});
}

void Timeline::collective_ended(const EndedCollective& collective) {
  if (!running()) return;
  put({.begin_ns = collective.begin_ns,
       .end_ns = collective.end_ns,
       .step = beacon_.step.load(std::memory_order_relaxed),
       .bytes = collective.bytes,
       .number = number_in_file(collective.scope, collective.number),
       .what = static_cast<std::uint8_t>(phases + static_cast<std::size_t>(collective.kind))});
}

TimelineSpan Timeline::span_of(const Entry& entry) {
  TimelineSpan span{.begin_ns = entry.begin_ns,
                    .end_ns = entry.end_ns,
                    .step = entry.step,
                    .bytes = entry.bytes,
                    .number = entry.number};
  if (entry.what < phases) {
    span.name = span_name(static_cast<RankPhase>(entry.what));
    return span;
  }
  span.name = span_name(static_cast<CollectiveKind>(entry.what - phases));
  // Spans of one track must not overlap: take the first free track, else the one that was free
  // last.
  auto track = std::find_if(track_ends_.begin() + 1, track_ends_.end(),
                            [&](std::int64_t end) { return end <= entry.begin_ns; });
  if (track == track_ends_.end()) track = std::min_element(track_ends_.begin() + 1, track);
  *track = entry.end_ns;
  span.track = static_cast<int>(track - track_ends_.begin());
  return span;
}

/// The spans in progress. Omits one that the beacon leaves meanwhile.
std::vector<TimelineSpan> Timeline::open_spans() const {
  std::vector<TimelineSpan> open;
  const auto [phase, since] = beacon_.phase.load();
  const std::int64_t step = beacon_.step.load(std::memory_order_acquire);
  const std::uint64_t number = beacon_.waiting_for.load(std::memory_order_acquire);
  const std::int64_t waiting_since = beacon_.waiting_since_ns.load(std::memory_order_acquire);
  const std::int32_t rank = beacon_.waiting_rank.load(std::memory_order_acquire);
  const CollectiveScope scope = beacon_.waiting_scope.load(std::memory_order_acquire);
  const CollectiveKind kind = beacon_.waiting_kind.load(std::memory_order_acquire);
  const std::uint64_t bytes = beacon_.waiting_bytes.load(std::memory_order_acquire);
  const std::int64_t now = monotonic_ns();
  if (beacon_.phase.load().since_ns != since) return open;
  open.push_back({.name = span_name(phase), .begin_ns = since, .end_ns = now, .step = step});
  if (number == 0 || rank != 0 || beacon_.waiting_for.load(std::memory_order_acquire) != number)
    return open;
  open.push_back({.name = span_name(kind),
                  .begin_ns = std::max(since, waiting_since),
                  .end_ns = now,
                  .step = step,
                  .bytes = bytes,
                  .number = number_in_file(scope, number)});
  return open;
}

void Timeline::drain() {
  if (!file_.create()) recording_ = false;
  std::vector<ClockBounds> clocks;
  {
    const std::lock_guard lock(mutex_);
    clocks.swap(clocks_);
  }
  for (const ClockBounds& bounds : clocks) file_.add_clock(bounds);
  const std::uint64_t begin = taken_.load(std::memory_order_relaxed);
  const std::uint64_t end = put_.load(std::memory_order_acquire);
  std::vector<TimelineSpan> spans;
  spans.reserve(end - begin);
  for (std::uint64_t at = begin; at < end; ++at) spans.push_back(span_of(ring_[at % ring_entries]));
  taken_.store(end, std::memory_order_release);
  // An open span may be among the ended ones; the file must not have both.
  file_.set_open({});
  file_.append(spans);
  file_.set_counts({.written = file_.written(), .dropped = dropped()});
  if (running()) file_.set_open(open_spans());
}

void Timeline::write_on() {
  pthread_setname_np(pthread_self(), "timeline");
  std::unique_lock lock(mutex_);
  while (true) {
    const bool ending = ending_;
    lock.unlock();
    drain();
    lock.lock();
    if (ending) return;
    const bool idle = !running() && put_ == taken_;
    if (idle) {
      changed_.wait(lock, [&] { return ending_ || running(); });
    } else {
      changed_.wait_for(lock, period);
    }
  }
}

}  // namespace dllaunch
