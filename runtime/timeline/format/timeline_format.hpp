// A rank's timeline on disk: Chrome trace JSON whose every record has a fixed place and width.
//
// Any mixture of the bytes of two records that can stand in the same place is itself well-formed:
// digits stand where digits stood, quotes where quotes stood. So the file is valid JSON whenever
// anybody looks, while a record is overwritten and after a writer that was killed in the middle of
// it. A checksum in each record tells which ones are whole.
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

/// Something that lasted. Times are the rank's CLOCK_MONOTONIC.
struct TimelineSpan {
  std::string_view name = {};  // capitals and underscores, at most longest_span_name
  int track = 0;               // 0: the training thread; 1 ..: collectives, several at a time
  std::int64_t begin_ns = 0;
  std::int64_t end_ns = 0;
  std::int64_t step = 0;  // optimiser steps done before it
  std::uint64_t bytes = 0;
  std::uint64_t number = 0;  // of the collective, the same on all ranks; 0: none
};
constexpr std::size_t longest_span_name = 18;
constexpr int timeline_tracks = 17;

/// Rank 0's clock minus this rank's lies between the two, at `at_ns` of this rank's.
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
};

struct TimelineCounts {
  std::uint64_t written = 0;  // spans, overwritten ones included
  std::uint64_t dropped = 0;  // spans that came faster than they could be written
};

/// "RUN/timeline/rank-00003.json"
std::string timeline_file_name(int rank);

/// Where things stand in a file. Everything before spans_at is text(): counts and clock blank.
class TimelineLayout {
 public:
  explicit TimelineLayout(const TimelineHead& head);

  const std::string& text() const { return text_; }
  std::size_t counts_at() const { return counts_at_; }
  std::size_t clock_at(std::size_t slot) const { return clock_at_ + slot * clock_bytes(); }
  std::size_t spans_at() const { return text_.size(); }
  std::size_t span_bytes() const { return blank_span_.size(); }
  /// After the last span.
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

/// Reads a file from front to back, whoever writes it meanwhile.
class TimelineReader {
 public:
  /// unavailable: no such file; bad_request: no timeline of a rank.
  static Result<TimelineReader> open(const std::string& path);

  const TimelineHead& head() const { return head_; }
  const TimelineCounts& counts() const { return counts_; }
  /// Sound ones, by time.
  const std::vector<ClockBounds>& clock() const { return clock_; }

  /// The next sound span, in no order; names are valid until the next call. Nothing: the end.
  std::optional<TimelineSpan> next();
  /// Records so far that were not whole: in the middle of being written, or damaged.
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
