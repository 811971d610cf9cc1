#include "trainer/reports/tensorboard.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <charconv>
#include <cmath>
#include <cstring>
#include <ctime>
#include <system_error>
#include <utility>

#include <fmt/core.h>

#include "trainer/reports/crc32c.hpp"
#include "trainer/reports/report_file.hpp"

namespace dllaunch {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view name_begins = "events.out.tfevents.";

/// Appends the lowest `bytes` bytes in little-endian order.
void append_little_endian(std::string& to, std::uint64_t value, int bytes) {
  for (int i = 0; i < bytes; ++i) to += static_cast<char>(value >> (8 * i) & 0xff);
}

/// A protocol buffer message; fields are added in order.
class Message {
 public:
  Message& whole(int field, std::int64_t value) {
    varint(static_cast<std::uint64_t>(field) << 3U);
    varint(static_cast<std::uint64_t>(value));
    return *this;
  }
  Message& real(int field, double value) {
    varint(static_cast<std::uint64_t>(field) << 3U | 1U);
    append_little_endian(bytes_, std::bit_cast<std::uint64_t>(value), 8);
    return *this;
  }
  Message& single(int field, float value) {
    varint(static_cast<std::uint64_t>(field) << 3U | 5U);
    append_little_endian(bytes_, std::bit_cast<std::uint32_t>(value), 4);
    return *this;
  }
  Message& text(int field, std::string_view value) {
    varint(static_cast<std::uint64_t>(field) << 3U | 2U);
    varint(value.size());
    bytes_ += value;
    return *this;
  }
  Message& nested(int field, const Message& value) { return text(field, value.bytes_); }
  Message& reals(int field, std::span<const double> values) {
    std::string packed;
    for (const double value : values) {
      append_little_endian(packed, std::bit_cast<std::uint64_t>(value), 8);
    }
    return text(field, packed);
  }
  const std::string& bytes() const { return bytes_; }

 private:
  void varint(std::uint64_t value) {
    for (; value >= 0x80; value >>= 7U) bytes_ += static_cast<char>((value & 0x7fU) | 0x80U);
    bytes_ += static_cast<char>(value);
  }

  std::string bytes_;
};

/// TFRecord: length, checksum of the length, data, checksum of the data.
std::string framed(const Message& message) {
  std::string record;
  append_little_endian(record, message.bytes().size(), 8);
  append_little_endian(record, masked_crc32c(record), 4);
  record += message.bytes();
  append_little_endian(record, masked_crc32c(message.bytes()), 4);
  return record;
}

Message event_at(double wall_s, std::int64_t step) {
  return Message().real(1, wall_s).whole(2, step);
}

std::string summary_record(double wall_s, std::int64_t step, const Message& summary) {
  return framed(event_at(wall_s, step).nested(5, summary));
}

Message plugin(std::string_view name, const Message& content = {}) {
  return Message().nested(1, Message().text(1, name).nested(2, content));
}

/// TensorProto with one dimension: type and size; the values follow in the field of that type.
Message tensor(int type, std::int64_t size) {
  return Message().whole(1, type).nested(2, Message().nested(2, Message().whole(1, size)));
}

std::string shown(const Setting& setting) {
  if (const auto* flag = std::get_if<bool>(&setting.value)) return *flag ? "true" : "false";
  if (const auto* number = std::get_if<double>(&setting.value)) return fmt::format("{}", *number);
  std::string text;
  for (const char c : std::get<std::string>(setting.value)) {
    if (c == '|') text += '\\';
    text += c == '\n' ? ' ' : c;
  }
  return text;
}

/// google.protobuf.Value.
Message struct_value(const Setting& setting) {
  if (const auto* flag = std::get_if<bool>(&setting.value)) return Message().whole(4, *flag);
  if (const auto* number = std::get_if<double>(&setting.value)) return Message().real(2, *number);
  return Message().text(3, std::get<std::string>(setting.value));
}

/// Returns the largest time stamp in the names of the event files in `folder`.
std::int64_t newest_in(const fs::path& folder) {
  std::int64_t newest = 0;
  std::error_code failed;
  for (fs::directory_iterator entry(folder, failed), end; !failed && entry != end;
       entry.increment(failed)) {
    const std::string name = entry->path().filename().string();
    if (!name.starts_with(name_begins)) continue;
    std::uint32_t seconds = 0;  // 32 bits: larger numbers are not time stamps
    std::from_chars(name.data() + name_begins.size(), name.data() + name.size(), seconds);
    newest = std::max<std::int64_t>(newest, seconds);
  }
  return newest;
}

}  // namespace

Histogram make_histogram(std::string tag, std::span<const double> values) {
  Histogram made{.tag = std::move(tag), .counts = std::vector<double>(Histogram::bins)};
  bool first = true;
  for (const double value : values) {
    if (!std::isfinite(value)) continue;
    made.least = first ? value : std::min(made.least, value);
    made.most = first ? value : std::max(made.most, value);
    made.sum += value;
    made.sum_of_squares += value * value;
    first = false;
  }
  // Halved, because the difference of two large numbers may overflow.
  const double range = made.most / 2 - made.least / 2;
  for (const double value : values) {
    if (!std::isfinite(value)) continue;
    const double share = range > 0 ? (value / 2 - made.least / 2) / range : 1;
    const auto bin = static_cast<int>(share * Histogram::bins);
    made.counts[static_cast<std::size_t>(std::clamp(bin, 0, Histogram::bins - 1))] += 1;
  }
  return made;
}

std::string version_record(double wall_s) {
  return framed(Message().real(1, wall_s).text(3, "brain.Event:2"));
}

std::string begin_record(double wall_s, std::int64_t step) {
  constexpr int start = 1;
  return framed(event_at(wall_s, step).nested(7, Message().whole(1, start)));
}

std::string scalars_record(double wall_s, std::int64_t step, std::span<const Scalar> scalars) {
  Message summary;
  for (const Scalar& scalar : scalars) {
    summary.nested(1, Message().text(1, scalar.tag).single(2, static_cast<float>(scalar.value)));
  }
  return summary_record(wall_s, step, summary);
}

std::string histograms_record(double wall_s, std::int64_t step,
                              std::span<const Histogram> histograms) {
  Message summary;
  for (const Histogram& histogram : histograms) {
    std::vector<double> limits;
    double count = 0;
    for (std::size_t i = 0; i < histogram.counts.size(); ++i) {
      const double share =
          static_cast<double>(i + 1) / static_cast<double>(histogram.counts.size());
      limits.push_back(histogram.least * (1 - share) + histogram.most * share);
      count += histogram.counts[i];
    }
    summary.nested(1, Message()
                          .text(1, histogram.tag)
                          .nested(5, Message()
                                         .real(1, histogram.least)
                                         .real(2, histogram.most)
                                         .real(3, count)
                                         .real(4, histogram.sum)
                                         .real(5, histogram.sum_of_squares)
                                         .reals(6, limits)
                                         .reals(7, histogram.counts)));
  }
  return summary_record(wall_s, step, summary);
}

std::string settings_record(double wall_s, std::int64_t step, std::span<const Setting> settings) {
  constexpr int single_type = 1;
  constexpr int text_type = 7;
  std::string table = "| key | value |\n| --- | --- |\n";
  Message session;
  for (const Setting& setting : settings) {
    table += fmt::format("| {} | {} |\n", setting.name, shown(setting));
    session.nested(1, Message().text(1, setting.name).nested(2, struct_value(setting)));
  }
  session.real(5, wall_s);
  const Message text = Message()
                           .text(1, "settings")
                           .nested(9, plugin("text"))
                           .nested(8, tensor(text_type, 1).text(8, table));
  const Message row = Message()
                          .text(1, "_hparams_/session_start_info")
                          .nested(9, plugin("hparams", Message().nested(3, session)))
                          .nested(8, tensor(single_type, 0));
  return summary_record(wall_s, step, Message().nested(1, text).nested(1, row));
}

Result<TensorBoard> TensorBoard::open(const fs::path& folder, const std::string& host) {
  std::error_code failed;
  fs::create_directories(folder, failed);  // open() reports errors
  TensorBoard board;
  for (auto seconds = std::max<std::int64_t>(std::time(nullptr), newest_in(folder) + 1);;
       ++seconds) {
    board.path_ = folder / fmt::format("{}{:010}.{}.{}.0", name_begins, seconds, host, ::getpid());
    board.file_ =
        ::open(board.path_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_APPEND | O_CLOEXEC, 0644);
    if (board.file_ >= 0) return board;
    if (errno != EEXIST) break;
  }
  return Error{ErrorKind::unavailable,
               fmt::format("cannot write {}: {}", board.path_.string(), std::strerror(errno)), ""};
}

TensorBoard::TensorBoard(TensorBoard&& other) noexcept
    : path_(std::move(other.path_)), file_(std::exchange(other.file_, -1)), size_(other.size_) {}

TensorBoard& TensorBoard::operator=(TensorBoard&& other) noexcept {
  std::swap(path_, other.path_);
  std::swap(file_, other.file_);
  std::swap(size_, other.size_);
  return *this;
}

TensorBoard::~TensorBoard() {
  if (file_ >= 0) ::close(file_);
}

Result<Ok> TensorBoard::write(std::string_view records) {
  return append_whole(file_, records, size_);
}

}  // namespace dllaunch
