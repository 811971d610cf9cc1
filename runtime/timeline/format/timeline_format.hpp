// Timeline format: a rank's timeline on disk, for its writer and its readers.
// Records nothing itself: runtime/timeline writes, launcher/ reads.
//
// Chrome trace JSON in which every record has a fixed place and width. Any mixture of the bytes of
// two records for the same place is well-formed: digits are over digits, quotes over quotes. So the
// file is valid JSON at any moment, while a record is being overwritten and after a writer was
// killed in the middle of one. A checksum in each record shows which ones are complete.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "support/result.hpp"

namespace dllaunch {

/// An interval. Times are the rank's CLOCK_MONOTONIC.
struct TimelineSpan {
  std::string_view name = {};  // capitals and underscores, at most longest_span_name
  int track = 0;               // 0: the training thread; 1 ..: concurrent collectives
  std::int64_t begin_ns = 0;
  std::int64_t end_ns = 0;
  std::int64_t step = 0;  // optimizer steps done before it
  std::uint64_t bytes = 0;
  /// Of the collective, equal on all its ranks; of the micro-batch, from 1, if the name is a
  /// phase's. 0: none.
  std::uint64_t number = 0;
};
/// Above are the numbers of collectives of some ranks only, the replicas of a pipeline's stage.
constexpr std::uint64_t first_group_collective = std::uint64_t{1} << 62;
constexpr std::size_t longest_span_name = 18;
constexpr int timeline_tracks = 17;

/// Bounds of rank 0's clock minus this rank's, at `at_ns` of this rank's.
struct ClockBounds {
  std::int64_t at_ns = 0;
  std::int64_t low_ns = 0;
  std::int64_t high_ns = 0;

  std::int64_t middle_ns() const { return low_ns + (high_ns - low_ns) / 2; }
};
constexpr std::size_t timeline_clock_slots = 16;

struct TimelineHead {
  int rank = 0;
  int ranks = 1;
  std::string host = {};
  std::string communicator = {};
  std::int64_t base_ns = 0;  // no span begins earlier
  int stage = 0;             // of a pipeline, from 1; 0: none
};

struct TimelineCounts {
  std::uint64_t written = 0;  // spans, including overwritten ones
  std::uint64_t dropped = 0;  // spans that arrived faster than they could be written
};

/// "rank 3 on n1, stage 2"
std::string process_name(int rank, const std::string& host, int stage);

/// "RUN/timeline/rank-00003.json"
std::string timeline_file_name(int rank);

/// Offsets in a file. Everything before spans_at is text(), with counts and clock blank.
class TimelineLayout {
 public:
  explicit TimelineLayout(const TimelineHead& head);

  const std::string& text() const { return text_; }
  std::size_t counts_at() const { return counts_at_; }
  std::size_t clock_at(std::size_t slot) const { return clock_at_ + slot * clock_bytes(); }
  std::size_t spans_at() const { return text_.size(); }
  std::size_t span_bytes() const { return blank_span_.size(); }
  /// What follows the last span.
  std::string_view tail() const { return tail_; }

  const std::string& blank_span() const { return blank_span_; }
  /// Appends a record.
  void append_span(const TimelineSpan& span, std::string& to) const;
  static std::string counts_record(const TimelineCounts& counts);
  static std::string clock_record(const ClockBounds& bounds);
  static std::size_t clock_bytes();

 private:
  TimelineHead head_;
  std::string text_;
  std::string tail_;
  std::string blank_span_;
  std::size_t counts_at_ = 0;
  std::size_t clock_at_ = 0;
};

/// Reads a file from front to back, even while it is written.
class TimelineReader {
 public:
  /// unavailable: no such file; bad_request: not a rank's timeline.
  static Result<TimelineReader> open(const std::string& path);

  const TimelineHead& head() const { return head_; }
  const TimelineCounts& counts() const { return counts_; }
  /// Valid bounds, by time.
  const std::vector<ClockBounds>& clock() const { return clock_; }

  /// Returns the next valid span, in no order; nullopt at the end. Names are valid until the next
  /// call.
  std::optional<TimelineSpan> next();
  /// Incomplete records so far: being written, or damaged.
  std::int64_t damaged() const { return damaged_; }

 private:
  struct Closer {
    void operator()(std::FILE* file) const { std::fclose(file); }
  };
  TimelineReader() = default;
  std::optional<std::string_view> line();
  Result<Ok> read_head(const std::string& path);

  std::unique_ptr<std::FILE, Closer> file_;
  std::array<char, 1024> line_ = {};
  TimelineHead head_;
  TimelineCounts counts_;
  std::vector<ClockBounds> clock_;
  std::int64_t damaged_ = 0;
};

}  // namespace dllaunch
