#include "launcher/slurm/slurm_time.hpp"

#include <array>
#include <ctime>
#include <limits>
#include <vector>

#include "launcher/base/split.hpp"
#include "support/parse_number.hpp"

namespace dllaunch {
namespace {

constexpr const char* time_format = "%Y-%m-%dT%H:%M:%S";

/// "2-12:30:00": the days, and one to three numbers between colons.
struct Duration {
  std::optional<std::int64_t> days = {};
  std::vector<std::int64_t> numbers = {};
};

std::optional<std::int64_t> digits_in(std::string_view text) {
  constexpr std::size_t most = 9;
  if (text.size() > most || text.starts_with('-')) return std::nullopt;
  return parse_number<std::int64_t>(text);
}

std::optional<Duration> read_duration(std::string_view text) {
  Duration duration;
  if (const auto dash = text.find('-'); dash != std::string_view::npos) {
    duration.days = digits_in(text.substr(0, dash));
    if (!duration.days) return std::nullopt;
    text.remove_prefix(dash + 1);
  }
  for (const auto part : split_at(text, ':')) {
    const auto number = digits_in(part);
    if (!number || duration.numbers.size() == 3) return std::nullopt;
    duration.numbers.push_back(*number);
  }
  return duration;
}

}  // namespace

std::optional<std::int64_t> parse_slurm_time(std::string_view text) {
  std::tm time{};
  const std::string terminated(text);
  const char* end = strptime(terminated.c_str(), time_format, &time);
  if (end == nullptr || *end != '\0') return std::nullopt;
  time.tm_isdst = -1;  // let mktime() determine daylight saving time
  const auto seconds = std::mktime(&time);
  if (seconds == -1) return std::nullopt;
  return std::int64_t{seconds};
}

std::string slurm_time(double unix_s) {
  const auto seconds = static_cast<std::time_t>(unix_s);
  std::tm local{};
  localtime_r(&seconds, &local);
  std::array<char, 32> text{};
  std::strftime(text.data(), text.size(), time_format, &local);
  return text.data();
}

bool is_unlimited(std::string_view text) {
  return text == "UNLIMITED" || text == "INFINITE" || text == "infinite" || text == "unlimited";
}

std::optional<std::int64_t> parse_slurm_seconds(std::string_view text) {
  const auto duration = read_duration(text);
  if (!duration) return std::nullopt;
  auto [days, parts] = *duration;
  // After days the first number is hours. Without days, one number is minutes, two are
  // minutes:seconds.
  std::int64_t hours = 0;
  if (days || parts.size() == 3) {
    hours = parts.front();
    parts.erase(parts.begin());
  }
  const auto minutes = parts.empty() ? 0 : parts[0];
  const auto seconds = parts.size() > 1 ? parts[1] : 0;
  return ((days.value_or(0) * 24 + hours) * 60 + minutes) * 60 + seconds;
}

std::optional<int> parse_slurm_minutes(std::string_view text) {
  const auto seconds = parse_slurm_seconds(text);
  if (!seconds) return std::nullopt;
  const auto minutes = (*seconds + 59) / 60;
  if (minutes > std::numeric_limits<int>::max()) return std::nullopt;
  return static_cast<int>(minutes);
}

std::optional<double> parse_slurm_elapsed(std::string_view text) {
  const auto duration = read_duration(text);
  if (!duration || duration->numbers.size() < 2) return std::nullopt;
  std::int64_t seconds = 0;
  for (const auto number : duration->numbers) seconds = seconds * 60 + number;
  return static_cast<double>(duration->days.value_or(0) * 86400 + seconds);
}

}  // namespace dllaunch
