// Timeline: records what happens when on each rank, in a bounded file for Perfetto or Chrome.
// Does not merge ranks or compute statistics: `dllaunch timeline` and the reports do.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "runtime/activity/activity.hpp"
#include "runtime/timeline/timeline_file.hpp"

namespace dllaunch {

struct TimelineOptions {
  std::string path = {};  // its folder is created at the first start
  TimelineHead head = {};
  std::size_t most_spans = 65536;  // then the oldest are overwritten
  std::function<void(std::string_view)> warn = [](std::string_view) {};  // called on any thread
  /// Each increment from 0 starts or stops the recording when the training thread next ends a
  /// phase. May be null.
  const std::atomic<unsigned>* switches = nullptr;
};

/// Listens to a rank's Activity. The training thread only stores a few words in memory; a separate
/// thread writes ten times a second. Spans that arrive faster than they can be written are dropped
/// and counted. A full or read-only disk is reported once and costs spans, but never stops the
/// training.
class Timeline final : public ActivityListener {
 public:
  /// Starts switched off. `activity` must already use its final beacon and outlive this object.
  Timeline(TimelineOptions options, const Activity& activity);
  ~Timeline() override;

  /// Called by the training thread.
  void start();
  void stop();
  bool running() const { return recording_.load(std::memory_order_relaxed); }
  /// This rank's clock relative to rank 0's, for the file. May be called while stopped.
  void add_clock(const ClockBounds& bounds);

  void phase_ended(RankPhase phase, int micro_batch, std::int64_t begin_ns,
                   std::int64_t end_ns) override;
  void collective_ended(const EndedCollective& collective) override;

  /// Spans dropped so far.
  std::uint64_t dropped() const { return dropped_.load(std::memory_order_relaxed); }

 private:
  /// 48 bytes passed between the threads. `what`: a phase, or a collective, numbered after the
  /// phases.
  struct Entry {
    std::int64_t begin_ns = 0;
    std::int64_t end_ns = 0;
    std::int64_t step = 0;
    std::uint64_t bytes = 0;
    std::uint64_t number = 0;
    std::uint8_t what = 0;
  };

  void put(const Entry& entry);
  void write_on();
  void drain();
  TimelineSpan span_of(const Entry& entry);
  std::vector<TimelineSpan> open_spans() const;

  TimelineOptions options_;
  const Beacon& beacon_;
  unsigned switches_seen_ = 0;

  // One producer, one consumer.
  std::vector<Entry> ring_;
  alignas(64) std::atomic<std::uint64_t> put_{0};
  alignas(64) std::atomic<std::uint64_t> taken_{0};
  alignas(64) std::atomic<std::uint64_t> dropped_{0};
  std::atomic<bool> recording_{false};

  std::mutex mutex_;
  std::condition_variable changed_;
  bool ending_ = false;              // guarded by mutex_
  std::vector<ClockBounds> clocks_;  // guarded by mutex_: not yet written

  // Used by the writing thread.
  TimelineFile file_;
  std::vector<std::int64_t> track_ends_;
  std::string text_;
  std::thread writer_;
};

/// "FORWARD"; Horovod's names for what Horovod has too ("ALLREDUCE").
std::string_view span_name(RankPhase phase);
std::string_view span_name(CollectiveKind kind);

}  // namespace dllaunch
