// Writes a rank's timeline file in place: bounded, and valid JSON at any moment.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "runtime/timeline/format/timeline_format.hpp"

namespace dllaunch {

/// Grows by renaming a larger file over a smaller one, up to `most_spans`; then overwrites the
/// oldest spans. A failed operation is reported once and leaves the file as it was.
class TimelineFile {
 public:
  using Warn = std::function<void(std::string_view)>;

  TimelineFile(std::string path, const TimelineHead& head, std::size_t most_spans, Warn warn);
  ~TimelineFile();
  TimelineFile(const TimelineFile&) = delete;
  TimelineFile& operator=(const TimelineFile&) = delete;

  /// Creates the folder and the file, replacing one of an earlier process. Returns false on
  /// failure.
  bool create();
  bool exists() const { return file_ >= 0; }

  void append(std::span<const TimelineSpan> spans);
  /// Sets the spans in progress, at most open_slots, replacing the previous ones.
  void set_open(std::span<const TimelineSpan> spans);
  void set_counts(const TimelineCounts& counts);
  /// Keeps the first bounds, and the latest of the others.
  void add_clock(const ClockBounds& bounds);

  std::uint64_t written() const { return written_; }

  static constexpr std::size_t open_slots = 2;
  static constexpr std::size_t first_spans = 1024;

 private:
  bool grow();
  bool replace_by(std::size_t spans);
  bool fill(int file, std::size_t spans);
  void put(std::size_t at, std::string_view text);
  void warn_once(std::string_view what, int error);

  std::string path_;
  TimelineLayout layout_;
  std::size_t most_spans_;
  Warn warn_;
  int file_ = -1;
  std::size_t spans_ = 0;  // capacity of the file, without open slots
  bool full_ = false;      // it cannot grow
  bool warned_ = false;
  std::uint64_t written_ = 0;
  std::uint64_t clocks_ = 0;
  std::string open_;  // as written in the file
};

}  // namespace dllaunch
