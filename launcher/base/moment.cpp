#include "launcher/base/moment.hpp"

#include <charconv>
#include <ctime>

namespace dllaunch {
namespace {

constexpr double day_s = 86400;

/// Reads text from its beginning; a failed step leaves it where it is.
class Reader {
 public:
  explicit Reader(std::string_view text) : text_(text) {}

  /// A number of exactly `digits`.
  std::optional<int> number(std::size_t digits) {
    if (text_.size() < digits) return std::nullopt;
    int value = 0;
    const auto end = std::from_chars(text_.data(), text_.data() + digits, value);
    if (end.ec != std::errc() || end.ptr != text_.data() + digits || value < 0) return std::nullopt;
    text_.remove_prefix(digits);
    return value;
  }
  /// Takes one of `letters`; returns it, or 0.
  char any_of(std::string_view letters) {
    if (text_.empty() || letters.find(text_[0]) == std::string_view::npos) return 0;
    const char taken = text_[0];
    text_.remove_prefix(1);
    return taken;
  }
  void skip_digits() {
    while (any_of("0123456789") != 0) continue;
  }
  bool at_end() const { return text_.empty(); }

 private:
  std::string_view text_;
};

struct Clock {
  int hour = 0;
  int minute = 0;
  int second = 0;
};

/// "08:30", "08:30:00", "08:30:00.123".
std::optional<Clock> read_clock(Reader& in) {
  const auto hour = in.number(2);
  if (!hour || *hour > 23 || in.any_of(":") == 0) return std::nullopt;
  const auto minute = in.number(2);
  if (!minute || *minute > 59) return std::nullopt;
  Clock clock{.hour = *hour, .minute = *minute};
  if (in.any_of(":") == 0) return clock;
  const auto second = in.number(2);
  if (!second || *second > 60) return std::nullopt;
  clock.second = *second;
  if (in.any_of(".,") != 0) in.skip_digits();
  return clock;
}

/// Seconds east of UTC, for "Z", "+01:00", "+0100"; nullopt: local time.
std::optional<int> read_zone(Reader& in) {
  if (in.any_of("Z") != 0) return 0;
  const char sign = in.any_of("+-");
  if (sign == 0) return std::nullopt;
  const auto hours = in.number(2);
  in.any_of(":");
  const auto minutes = in.number(2);
  if (!hours || !minutes) return std::nullopt;
  return (sign == '-' ? -1 : 1) * (*hours * 3600 + *minutes * 60);
}

/// "2026-11-24", optionally with a clock and a zone.
std::optional<double> read_date(Reader& in, bool clock_needed) {
  const auto year = in.number(4);
  if (!year || in.any_of("-/") == 0) return std::nullopt;
  const auto month = in.number(2);
  if (!month || *month < 1 || *month > 12 || in.any_of("-/") == 0) return std::nullopt;
  const auto day = in.number(2);
  if (!day || *day < 1 || *day > 31) return std::nullopt;
  Clock clock;
  std::optional<int> zone;
  if (in.any_of("T ") != 0) {
    const auto read = read_clock(in);
    if (!read) return std::nullopt;
    clock = *read;
    zone = read_zone(in);
  } else if (clock_needed) {
    return std::nullopt;
  }
  std::tm parts{};
  parts.tm_year = *year - 1900;
  parts.tm_mon = *month - 1;
  parts.tm_mday = *day;
  parts.tm_hour = clock.hour;
  parts.tm_min = clock.minute;
  parts.tm_sec = clock.second;
  parts.tm_isdst = -1;
  if (zone) return static_cast<double>(timegm(&parts) - *zone);
  return static_cast<double>(mktime(&parts));
}

/// "10m".
std::optional<double> read_age(std::string_view text) {
  constexpr double most = 1e9;  // from_chars() also reads "inf" and "nan"
  double count = 0;
  const auto end = std::from_chars(text.data(), text.data() + text.size(), count);
  if (end.ec != std::errc() || end.ptr + 1 != text.data() + text.size() ||
      !(count >= 0 && count <= most))
    return std::nullopt;
  switch (*end.ptr) {
    case 's':
      return count;
    case 'm':
      return count * 60;
    case 'h':
      return count * 3600;
    case 'd':
      return count * day_s;
    default:
      return std::nullopt;
  }
}

std::optional<double> today_at(const Clock& clock, double now_s) {
  const auto now = static_cast<std::time_t>(now_s);
  std::tm parts{};
  if (localtime_r(&now, &parts) == nullptr) return std::nullopt;
  parts.tm_hour = clock.hour;
  parts.tm_min = clock.minute;
  parts.tm_sec = clock.second;
  parts.tm_isdst = -1;
  return static_cast<double>(mktime(&parts));
}

}  // namespace

std::optional<double> moment_in(std::string_view text, double now_s) {
  if (const auto age = read_age(text)) return now_s - *age;
  Reader date(text);
  if (const auto moment = read_date(date, false); moment && date.at_end()) return moment;
  Reader clock(text);
  if (const auto read = read_clock(clock); read && clock.at_end()) return today_at(*read, now_s);
  return std::nullopt;
}

std::optional<double> leading_moment(std::string_view line) {
  Reader in(line);
  in.any_of("[(");
  return read_date(in, true);
}

}  // namespace dllaunch
