#include "runtime/timeline/timeline_file.hpp"

#include <fcntl.h>
#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <system_error>
#include <utility>

namespace dllaunch {
namespace {

bool write_at(int file, std::size_t at, std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = ::pwrite(file, text.data(), text.size(), static_cast<off_t>(at));
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) {
      if (written == 0) errno = ENOSPC;
      return false;
    }
    at += static_cast<std::size_t>(written);
    text.remove_prefix(static_cast<std::size_t>(written));
  }
  return true;
}

std::string temporary_name(const std::string& path) {
  const std::filesystem::path whole(path);
  return (whole.parent_path() / ("." + whole.filename().string())).string();
}

}  // namespace

TimelineFile::TimelineFile(std::string path, const TimelineHead& head, std::size_t most_spans,
                           Warn warn)
    : path_(std::move(path)),
      layout_(head),
      most_spans_(std::max(most_spans, std::size_t{1})),
      warn_(std::move(warn)) {
  for (std::size_t i = 0; i < open_slots; ++i) open_ += layout_.blank_span();
}

TimelineFile::~TimelineFile() {
  if (file_ >= 0) ::close(file_);
}

bool TimelineFile::create() {
  if (exists()) return true;
  std::error_code error;
  std::filesystem::create_directories(std::filesystem::path(path_).parent_path(), error);
  if (!error && replace_by(std::min(first_spans, most_spans_))) return true;
  warn_once("no timeline", error ? error.value() : errno);
  return false;
}

/// The larger file is complete before it takes the name.
bool TimelineFile::replace_by(std::size_t spans) {
  const std::string temporary = temporary_name(path_);
  const int file = ::open(temporary.c_str(), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  if (file < 0) return false;
  if (!fill(file, spans) || ::rename(temporary.c_str(), path_.c_str()) != 0) {
    const int why = errno;
    ::close(file);
    ::unlink(temporary.c_str());
    errno = why;
    return false;
  }
  if (file_ >= 0) ::close(file_);
  file_ = file;
  spans_ = spans;
  return true;
}

bool TimelineFile::fill(int file, std::size_t spans) {
  const std::size_t before =
      spans_ == 0 ? 0 : layout_.spans_at() + (open_slots + spans_) * layout_.span_bytes();
  constexpr std::size_t piece_bytes = 1 << 20;
  std::string piece;
  std::size_t at = 0;
  while (at < before) {
    piece.resize(std::min(piece_bytes, before - at));
    const ssize_t count = ::pread(file_, piece.data(), piece.size(), static_cast<off_t>(at));
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return false;
    piece.resize(static_cast<std::size_t>(count));
    if (!write_at(file, at, piece)) return false;
    at += piece.size();
  }
  piece = before == 0 ? layout_.text() + open_ : "";
  for (std::size_t i = spans_; i < spans; ++i) {
    piece += layout_.blank_span();
    if (piece.size() < piece_bytes) continue;
    if (!write_at(file, at, piece)) return false;
    at += piece.size();
    piece.clear();
  }
  piece += layout_.tail();
  return write_at(file, at, piece);
}

bool TimelineFile::grow() {
  if (full_ || spans_ >= most_spans_) return false;
  constexpr std::size_t factor = 4;
  if (replace_by(std::min(spans_ * factor, most_spans_))) return true;
  full_ = true;
  warn_once(fmt::format("the timeline keeps the latest {} spans only", spans_), errno);
  return false;
}

void TimelineFile::append(std::span<const TimelineSpan> spans) {
  if (!exists()) return;
  std::string text;
  while (!spans.empty()) {
    // The oldest are overwritten only once the file has reached its final size.
    if (written_ >= spans_) grow();
    const std::size_t slot = written_ % spans_;
    const std::size_t count = std::min(spans.size(), spans_ - slot);
    text.clear();
    for (const TimelineSpan& span : spans.first(count)) layout_.append_span(span, text);
    put(layout_.spans_at() + (open_slots + slot) * layout_.span_bytes(), text);
    written_ += count;
    spans = spans.subspan(count);
  }
}

void TimelineFile::set_open(std::span<const TimelineSpan> spans) {
  std::string text;
  for (const TimelineSpan& span : spans.first(std::min(spans.size(), open_slots))) {
    layout_.append_span(span, text);
  }
  while (text.size() < open_slots * layout_.span_bytes()) text += layout_.blank_span();
  if (text == open_) return;
  open_ = std::move(text);
  put(layout_.spans_at(), open_);
}

void TimelineFile::set_counts(const TimelineCounts& counts) {
  put(layout_.counts_at(), TimelineLayout::counts_record(counts));
}

void TimelineFile::add_clock(const ClockBounds& bounds) {
  const std::size_t slot = clocks_ == 0 ? 0 : 1 + (clocks_ - 1) % (timeline_clock_slots - 1);
  ++clocks_;
  put(layout_.clock_at(slot), TimelineLayout::clock_record(bounds));
}

void TimelineFile::put(std::size_t at, std::string_view text) {
  if (file_ < 0 || write_at(file_, at, text)) return;
  warn_once("the timeline loses spans", errno);
}

void TimelineFile::warn_once(std::string_view what, int error) {
  if (std::exchange(warned_, true)) return;
  warn_(fmt::format("{}: cannot write {}: {}", what, path_, std::strerror(error)));
}

}  // namespace dllaunch
