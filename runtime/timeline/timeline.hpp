// What a rank did when, kept in a bounded file that people open in Perfetto or Chrome.
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
  std::string path = {};  // the folder is made with the first start
  TimelineHead head = {};
  std::size_t most_spans = 65536;  // then the oldest are overwritten
  std::function<void(std::string_view)> warn = [](std::string_view) {};  // on any thread
  /// Each step up from 0 starts or stops, when the training thread next ends a phase. May be null.
  const std::atomic<unsigned>* switches = nullptr;
};

/// Hears a rank's Activity. The training thread only puts a few words into memory; a thread of its
/// own writes ten times a second. What comes faster than that can be written is dropped and
/// counted. A disk that is full or read-only is said once and costs spans, never the training.
class Timeline final : public ActivityListener {
 public:
  /// Off. The beacon of `activity` is its final one and outlives this.
  Timeline(TimelineOptions options, const Activity& activity);
  ~Timeline() override;

  /// By the training thread.
  void start();
  void stop();
  bool running() const { return recording_.load(std::memory_order_relaxed); }
  /// The rank's clock against rank 0's, to be kept in the file. Also while stopped.
  void add_clock(const ClockBounds& bounds);

  void phase_ended(RankPhase phase, std::int64_t begin_ns, std::int64_t end_ns) override;
  void collective_ended(std::uint64_t number, CollectiveKind kind, std::uint64_t bytes,
                        std::int64_t begin_ns, std::int64_t end_ns) override;

  /// Spans that were dropped so far.
  std::uint64_t dropped() const { return dropped_.load(std::memory_order_relaxed); }

 private:
  /// 48 bytes between the threads. `what`: a phase, or a collective after all phases.
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
  std::vector<ClockBounds> clocks_;  // guarded by mutex_: to be written

  // Of the writing thread.
  TimelineFile file_;
  std::vector<std::int64_t> track_ends_;
  std::string text_;
  std::thread writer_;
};

/// "FORWARD"; Horovod's names where a thing is the same ("ALLREDUCE").
std::string_view span_name(RankPhase phase);
std::string_view span_name(CollectiveKind kind);

}  // namespace dllaunch
