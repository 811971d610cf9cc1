#include "launcher/base/time_span.hpp"

#include <fmt/core.h>

#include <charconv>
#include <cmath>

namespace dllaunch {
namespace {

constexpr double minute_s = 60;
constexpr double hour_s = 3600;
constexpr double day_s = 86400;

/// Of the unit at the beginning of the text, which it takes; 0: none.
double take_unit(std::string_view& text) {
  struct Unit {
    std::string_view name;
    double seconds;
  };
  constexpr Unit units[] = {
      {"min", minute_s}, {"m", minute_s}, {"d", day_s}, {"h", hour_s}, {"s", 1}};
  for (const auto& unit : units) {
    if (!text.starts_with(unit.name)) continue;
    text.remove_prefix(unit.name.size());
    return unit.seconds;
  }
  return 0;
}

void skip_blanks(std::string_view& text) {
  while (text.starts_with(' ')) text.remove_prefix(1);
}

/// "14 d 2 h": `count` is of the larger unit, with the rest in the smaller one.
std::string two_units(double count, const char* name, double per, const char* smaller) {
  const auto small = static_cast<long long>(std::llround(count * per));
  const auto of_one = static_cast<long long>(per);
  if (small % of_one == 0) return fmt::format("{} {}", small / of_one, name);
  return fmt::format("{} {} {} {}", small / of_one, name, small % of_one, smaller);
}

}  // namespace

const char* const time_span_pattern = "^([0-9]+([.][0-9]+)?(d|h|min|m|s) ?)+$";

std::optional<double> seconds_in(std::string_view text) {
  constexpr double most_s = 1e6 * day_s;
  double sum = 0;
  if (text.empty()) return std::nullopt;
  while (!text.empty()) {
    double count = 0;
    const auto end =
        std::from_chars(text.data(), text.data() + text.size(), count, std::chars_format::fixed);
    // It also reads "-1", "inf" and "nan".
    if (end.ec != std::errc() || !std::isfinite(count) || std::signbit(count)) return std::nullopt;
    text.remove_prefix(static_cast<std::size_t>(end.ptr - text.data()));
    skip_blanks(text);
    const double unit_s = take_unit(text);
    if (unit_s == 0) return std::nullopt;
    skip_blanks(text);
    sum += count * unit_s;
  }
  if (sum > most_s) return std::nullopt;
  return sum;
}

std::string time_span(double seconds) {
  if (seconds < 10 && seconds != std::floor(seconds)) return fmt::format("{:.2g} s", seconds);
  if (seconds < 2 * minute_s - 0.5) return fmt::format("{:.0f} s", seconds);
  if (seconds < hour_s - minute_s / 2) return fmt::format("{:.0f} min", seconds / minute_s);
  if (seconds < 2 * day_s - minute_s / 2) return two_units(seconds / hour_s, "h", 60, "min");
  return two_units(seconds / day_s, "d", 24, "h");
}

}  // namespace dllaunch
