// Writes a rank's timeline file in place: bounded, and valid JSON at every moment.
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

/// Grows by renaming a larger file over a smaller one, up to `most_spans`; then the oldest spans
/// are overwritten. An operation that fails is said once; the file stays as it was.
class TimelineFile {
 public:
  using Warn = std::function<void(std::string_view)>;

  TimelineFile(std::string path, const TimelineHead& head, std::size_t most_spans, Warn warn);
  ~TimelineFile();
  TimelineFile(const TimelineFile&) = delete;
  TimelineFile& operator=(const TimelineFile&) = delete;

  /// Makes the folder and the file, in place of an earlier process's. False: it cannot.
  bool create();
  bool exists() const { return file_ >= 0; }

  void append(std::span<const TimelineSpan> spans);
  /// What goes on at the moment, at most open_slots; replaces what it said before.
  void set_open(std::span<const TimelineSpan> spans);
  void set_counts(const TimelineCounts& counts);
  /// The first stays; of the others the latest are kept.
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
  std::size_t spans_ = 0;  // the file has room for, open ones aside
  bool full_ = false;      // it cannot grow
  bool warned_ = false;
  std::uint64_t written_ = 0;
  std::uint64_t clocks_ = 0;
  std::string open_;  // as it stands in the file
};

}  // namespace dllaunch
