#include "runtime/timeline/format/timeline_format.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <limits>

#include "support/regular_file.hpp"

namespace dllaunch {
namespace {

// Time stamps start at 10^12 us, so they have 13 digits for 104 days.
constexpr std::int64_t first_stamp_us = 1'000'000'000'000;
constexpr std::int64_t last_stamp_us = 9'999'999'999'999;
constexpr int first_tid = 10;  // two digits
constexpr std::string_view magic =
    "{\"displayTimeUnit\":\"ms\",\"otherData\":{\"dllaunch_timeline\":1,";

/// Appends any number as 24 characters of JSON: d.dddddddddddddddddde+dd, divided by 10^scale.
void append_number(std::uint64_t value, int scale, std::string& to) {
  constexpr int digits = 19;
  value = std::min<std::uint64_t>(value, std::numeric_limits<std::int64_t>::max());
  std::array<char, digits> text;
  text.fill('0');
  const auto end = std::to_chars(text.data(), text.data() + digits, value).ptr;
  const int exponent = static_cast<int>(end - text.data()) - 1 - scale;
  to += text[0];
  to += '.';
  to.append(text.data() + 1, digits - 1);
  to += exponent < 0 ? "e-" : "e+";
  to += static_cast<char>('0' + std::abs(exponent) / 10);
  to += static_cast<char>('0' + std::abs(exponent) % 10);
}
constexpr std::size_t number_width = 24;

void append_signed(std::int64_t value, std::string& to) {
  to += value < 0 ? '-' : ' ';
  append_number(
      value < 0 ? 0 - static_cast<std::uint64_t>(value) : static_cast<std::uint64_t>(value), 0, to);
}

/// Appends 18 characters. The last digit is 0.2 ns: readers multiply by 1000 and truncate or round,
/// and neither must lose a nanosecond, and with it the nesting of spans.
void append_stamp(std::int64_t ns, std::string& to) {
  ns = std::max<std::int64_t>(ns, 0);
  const std::int64_t us = std::min(first_stamp_us + ns / 1000, last_stamp_us);
  std::array<char, 18> text;
  std::to_chars(text.data(), text.data() + 13, us);
  text[13] = '.';
  const auto rest = static_cast<int>(ns % 1000);
  text[14] = static_cast<char>('0' + rest / 100);
  text[15] = static_cast<char>('0' + rest / 10 % 10);
  text[16] = static_cast<char>('0' + rest % 10);
  text[17] = '2';
  to.append(text.data(), text.size());
}

/// Like FNV-1a, but eight bytes at a time: it is computed for every span.
std::uint32_t checksum(std::string_view text) {
  std::uint64_t hash = 14695981039346656037U;
  while (!text.empty()) {
    std::array<unsigned char, 8> bytes = {};
    text.copy(reinterpret_cast<char*>(bytes.data()), bytes.size());
    std::uint64_t word = 0;
    for (std::size_t i = bytes.size(); i-- > 0;) word = word << 8U | bytes[i];
    hash = (hash ^ word) * 1099511628211U;
    hash ^= hash >> 29U;
    text.remove_prefix(std::min(text.size(), bytes.size()));
  }
  return static_cast<std::uint32_t>(hash ^ hash >> 32U);
}

constexpr std::string_view check_key = ",\"check\":\"";

/// Appends the checksum of everything from `begin` on.
void append_check(std::size_t begin, std::string& to) {
  std::uint32_t sum = checksum(std::string_view(to).substr(begin));
  to += check_key;
  for (int i = 0; i < 8; ++i, sum <<= 4U) to += "0123456789abcdef"[sum >> 28U];
  to += '"';
}

bool is_whole(std::string_view record) {
  const auto at = record.find(check_key);
  if (at == std::string_view::npos) return false;
  std::uint32_t sum = 0;
  const std::string_view digits = record.substr(at + check_key.size());
  if (digits.size() < 8) return false;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + 8, sum, 16);
  return error == std::errc() && end == digits.data() + 8 && sum == checksum(record.substr(0, at));
}

void append_record(const TimelineSpan& span, bool blank, const TimelineHead& head,
                   std::string& to) {
  const std::size_t begin = to.size();
  to += "{\"name\":\"";
  to += span.name.substr(0, longest_span_name);
  to.append(longest_span_name - std::min(span.name.size(), longest_span_name), ' ');
  to += blank ? "\",\"ph\":\"M\",\"pid\":" : "\",\"ph\":\"X\",\"pid\":";
  fmt::format_to(std::back_inserter(to), "{}", head.rank);
  to += ",\"tid\":";
  const int tid = first_tid + std::clamp(span.track, 0, timeline_tracks - 1);
  to += static_cast<char>('0' + tid / 10);
  to += static_cast<char>('0' + tid % 10);
  to += ",\"ts\":";
  append_stamp(span.begin_ns - head.base_ns, to);
  to += ",\"dur\":";
  constexpr std::int64_t longest_ns = 900'000'000'000'000'000;
  const std::int64_t ns = std::clamp<std::int64_t>(span.end_ns - span.begin_ns, 0, longest_ns);
  append_number(static_cast<std::uint64_t>(ns) * 10 + 2, 4, to);  // 0.2 ns, as in a stamp
  to += ",\"args\":{\"step\":";
  append_number(static_cast<std::uint64_t>(std::max<std::int64_t>(span.step, 0)), 0, to);
  to += ",\"bytes\":";
  append_number(span.bytes, 0, to);
  to += ",\"number\":";
  append_number(span.number, 0, to);
  append_check(begin, to);
  to += "}},\n";
}

/// Limits names to characters that JSON need not escape.
std::string plain(std::string_view name) {
  std::string kept;
  for (const char c : name.substr(0, 255)) {
    const bool harmless = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                          (c >= '0' && c <= '9') || c == '.' || c == '-' || c == '_';
    kept += harmless ? c : '_';
  }
  return kept;
}

/// Returns what follows `"key":` in the record.
std::optional<std::string_view> after(std::string_view record, std::string_view key) {
  const auto at = record.find(fmt::format("\"{}\":", key));
  if (at == std::string_view::npos) return std::nullopt;
  return record.substr(at + key.size() + 3);
}

/// Parses an integer in any of our forms, after optional spaces.
std::optional<std::int64_t> whole(std::string_view text) {
  text.remove_prefix(std::min(text.find_first_not_of(' '), text.size()));
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc()) return std::nullopt;
  return value;
}

/// The inverse of append_number.
std::optional<std::uint64_t> number(std::string_view text, int scale) {
  if (text.size() < number_width || text[1] != '.' || text[20] != 'e') return std::nullopt;
  std::array<char, 19> digits;
  digits[0] = text[0];
  std::copy_n(text.data() + 2, digits.size() - 1, digits.data() + 1);
  int exponent = (text[22] - '0') * 10 + (text[23] - '0');
  if (text[21] == '-') exponent = -exponent;
  const int length = exponent + scale + 1;
  if (length > 19) return std::nullopt;
  if (length < 1) return 0;
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + length, value);
  if (error != std::errc() || end != digits.data() + length) return std::nullopt;
  return value;
}

std::optional<std::uint64_t> number_at(std::string_view record, std::string_view key, int scale) {
  const auto text = after(record, key);
  return text ? number(*text, scale) : std::nullopt;
}

std::optional<std::int64_t> signed_at(std::string_view record, std::string_view key) {
  const auto text = after(record, key);
  if (!text || text->empty()) return std::nullopt;
  const auto value = number(text->substr(1), 0);
  constexpr std::uint64_t most = 4'000'000'000'000'000'000;  // the sum of two fits
  if (!value || *value > most) return std::nullopt;
  const auto size = static_cast<std::int64_t>(*value);
  return (*text)[0] == '-' ? -size : size;
}

std::optional<std::int64_t> stamp_at(std::string_view record) {
  const auto text = after(record, "ts");
  if (!text || text->size() < 18 || (*text)[13] != '.') return std::nullopt;
  const auto us = whole(text->substr(0, 13));
  const auto rest = whole(text->substr(14, 3));
  if (!us || !rest || *us < first_stamp_us || *us > last_stamp_us || *rest < 0) return std::nullopt;
  return (*us - first_stamp_us) * 1000 + *rest;
}

std::optional<std::string> text_at(std::string_view record, std::string_view key) {
  const auto text = after(record, key);
  if (!text || text->size() < 2 || (*text)[0] != '"') return std::nullopt;
  const auto end = text->find('"', 1);
  if (end == std::string_view::npos) return std::nullopt;
  return std::string(text->substr(1, end - 1));
}

std::optional<TimelineSpan> parse_span(std::string_view record, std::int64_t base_ns) {
  constexpr std::string_view name_key = "{\"name\":\"";
  if (!record.starts_with(name_key)) return std::nullopt;
  const auto track = after(record, "tid");
  const auto begin = stamp_at(record);
  const auto duration = number_at(record, "dur", 3);
  const auto step = number_at(record, "step", 0);
  const auto bytes = number_at(record, "bytes", 0);
  const auto of_ranks = number_at(record, "number", 0);
  if (!track || !begin || !duration || !step || !bytes || !of_ranks) return std::nullopt;
  constexpr std::uint64_t longest_ns = 1'000'000'000'000'000'000;
  const int tid = static_cast<int>(whole(track->substr(0, 2)).value_or(0));
  if (tid < first_tid || tid >= first_tid + timeline_tracks || *duration > longest_ns ||
      *step > longest_ns) {
    return std::nullopt;
  }
  std::string_view name = record.substr(name_key.size(), longest_span_name);
  name = name.substr(0, name.find_last_not_of(' ') + 1);
  if (name.find_first_not_of("ABCDEFGHIJKLMNOPQRSTUVWXYZ_") != std::string_view::npos) {
    return std::nullopt;
  }
  const std::int64_t begin_ns = base_ns + *begin;
  return TimelineSpan{.name = name,
                      .track = tid - first_tid,
                      .begin_ns = begin_ns,
                      .end_ns = begin_ns + static_cast<std::int64_t>(*duration),
                      .step = static_cast<std::int64_t>(*step),
                      .bytes = *bytes,
                      .number = *of_ranks};
}

std::string metadata(int rank, int tid, std::string_view name, std::string_view args) {
  return fmt::format("{{\"name\":\"{}\",\"ph\":\"M\",\"pid\":{},\"tid\":{},\"args\":{{{}}}}}", name,
                     rank, tid, args);
}

}  // namespace

std::string process_name(int rank, const std::string& host, int stage) {
  const std::string of_stage = stage > 0 ? fmt::format(", stage {}", stage) : "";
  return fmt::format("rank {} on {}{}", rank, host, of_stage);
}

std::string timeline_file_name(int rank) {
  return fmt::format("rank-{:05}.json", rank);
}

TimelineLayout::TimelineLayout(const TimelineHead& head) : head_(head) {
  const std::string host = plain(head.host);
  const std::string communicator = plain(head.communicator);
  text_ = fmt::format(
      "{}\"rank\":{},\"ranks\":{},\"base_ns\":{},\"communicator\":\"{}\",\"host\":\"{}\",\"stage\":"
      "{},\n",
      magic, head.rank, head.ranks, head.base_ns, communicator, host, head.stage);
  counts_at_ = text_.size();
  text_ += counts_record({});
  text_ += "\"clock\":[\n";
  clock_at_ = text_.size();
  // All of one width, including the last one, which has no comma.
  for (std::size_t i = 0; i < timeline_clock_slots; ++i) text_ += clock_record({});
  text_ += "0]},\"traceEvents\":[\n";
  const auto name = [](std::string_view text) { return fmt::format("\"name\":\"{}\"", text); };
  text_ += metadata(head.rank, 0, "process_name", name(process_name(head.rank, host, head.stage))) +
           ",\n";
  text_ +=
      metadata(head.rank, 0, "process_sort_index", fmt::format("\"sort_index\":{}", head.rank)) +
      ",\n";
  for (int track = 0; track < timeline_tracks; ++track) {
    text_ += metadata(head.rank, first_tid + track, "thread_name",
                      name(track == 0 ? "training" : fmt::format("collectives {}", track))) +
             ",\n";
  }
  tail_ = metadata(head.rank, 0, "process_labels", fmt::format("\"labels\":\"{}\"", communicator)) +
          "\n]}\n";
  append_record({.begin_ns = head.base_ns, .end_ns = head.base_ns}, true, head_, blank_span_);
}

void TimelineLayout::append_span(const TimelineSpan& span, std::string& to) const {
  append_record(span, false, head_, to);
}

std::string TimelineLayout::counts_record(const TimelineCounts& counts) {
  std::string record = "\"counts\":{\"written\":";
  append_number(counts.written, 0, record);
  record += ",\"dropped\":";
  append_number(counts.dropped, 0, record);
  append_check(0, record);
  return record + "},\n";
}

std::string TimelineLayout::clock_record(const ClockBounds& bounds) {
  std::string record = "{\"at_ns\":";
  append_signed(bounds.at_ns, record);
  record += ",\"low_ns\":";
  append_signed(bounds.low_ns, record);
  record += ",\"high_ns\":";
  append_signed(bounds.high_ns, record);
  append_check(0, record);
  return record + "},\n";
}

std::size_t TimelineLayout::clock_bytes() {
  static const std::size_t bytes = clock_record({}).size();
  return bytes;
}

Result<TimelineReader> TimelineReader::open(const std::string& path) {
  TimelineReader reader;
  const int file = open_regular_file(path);
  if (file >= 0) reader.file_.reset(fdopen(file, "r"));
  if (!reader.file_) {
    return Error{ErrorKind::unavailable,
                 fmt::format("cannot read {}: {}", path, std::strerror(errno)), ""};
  }
  if (auto read = reader.read_head(path); !read) return std::move(read).error();
  return reader;
}

/// Returns a line without its newline. Longer ones come in pieces, which are not valid records.
std::optional<std::string_view> TimelineReader::line() {
  if (std::fgets(line_.data(), static_cast<int>(line_.size()), file_.get()) == nullptr)
    return std::nullopt;
  std::string_view text = line_.data();
  if (text.ends_with('\n')) text.remove_suffix(1);
  return text;
}

Result<Ok> TimelineReader::read_head(const std::string& path) {
  const Error no_timeline{ErrorKind::bad_request, path + " is not a rank's timeline", ""};
  const auto first = line();
  if (!first || !first->starts_with(magic)) return no_timeline;
  const auto field = [&](std::string_view key) {
    const auto text = after(*first, key);
    return text ? whole(*text) : std::nullopt;
  };
  const auto rank = field("rank");
  const auto ranks = field("ranks");
  const auto base = field("base_ns");
  const auto communicator = text_at(*first, "communicator");
  const auto host = text_at(*first, "host");
  constexpr std::int64_t most_ranks = 1 << 24;
  if (!rank || !ranks || !base || !communicator || !host || *rank < 0 || *rank >= *ranks ||
      *ranks > most_ranks || *base < 0 || *base > std::numeric_limits<std::int64_t>::max() / 4) {
    return no_timeline;
  }
  // Files of earlier versions have no stage.
  const auto stage = std::clamp<std::int64_t>(field("stage").value_or(0), 0, *ranks);
  head_ = {.rank = static_cast<int>(*rank),
           .ranks = static_cast<int>(*ranks),
           .host = plain(*host),
           .communicator = plain(*communicator),
           .base_ns = *base,
           .stage = static_cast<int>(stage)};
  while (const auto record = line()) {
    if (record->ends_with("\"traceEvents\":[")) break;
    if (*record == "\"clock\":[") continue;
    if (!is_whole(*record)) {
      ++damaged_;
      continue;
    }
    const auto written = number_at(*record, "written", 0);
    const auto dropped = number_at(*record, "dropped", 0);
    if (written && dropped) counts_ = {.written = *written, .dropped = *dropped};
    const auto at = signed_at(*record, "at_ns");
    const auto low = signed_at(*record, "low_ns");
    const auto high = signed_at(*record, "high_ns");
    if (at && low && high && *at > 0 && *low <= *high) clock_.push_back({*at, *low, *high});
  }
  std::ranges::sort(clock_, {}, &ClockBounds::at_ns);
  return Ok{};
}

std::optional<TimelineSpan> TimelineReader::next() {
  while (const auto record = line()) {
    const bool has_check = record->find(check_key) != std::string_view::npos;
    const bool named = record->starts_with("{\"name\":\"");
    if (named && !has_check) continue;  // names of processes and tracks
    if (*record == "]}" || record->empty()) continue;
    if (!is_whole(*record)) {
      ++damaged_;
      continue;
    }
    if (record->find("\"ph\":\"M\"") != std::string_view::npos) continue;
    auto span = parse_span(*record, head_.base_ns);
    if (span) return span;
    ++damaged_;
  }
  return std::nullopt;
}

}  // namespace dllaunch
