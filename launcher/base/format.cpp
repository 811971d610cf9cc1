#include "launcher/base/format.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <ctime>
#include <iterator>

namespace dllaunch {

std::string clock_time(double seconds) {
  const auto total = static_cast<std::int64_t>(std::llround(std::max(0.0, seconds)));
  const auto hours = total / 3600;
  const auto minutes = total / 60 % 60;
  if (hours > 0) return fmt::format("{}:{:02}:{:02}", hours, minutes, total % 60);
  return fmt::format("{}:{:02}", minutes, total % 60);
}

std::string clock_at(double unix_s, const char* form) {
  const auto when = static_cast<std::time_t>(unix_s);
  std::tm local{};
  localtime_r(&when, &local);
  std::array<char, 32> clock{};
  std::strftime(clock.data(), clock.size(), form, &local);
  return clock.data();
}

std::string rate(double per_second) {
  if (per_second < 100) return fmt::format("{:.1f}", per_second);
  std::string digits = fmt::format("{:.0f}", per_second);
  for (auto at = std::ssize(digits) - 3; at > 0; at -= 3) {
    digits.insert(static_cast<std::size_t>(at), ",");
  }
  return digits;
}

}  // namespace dllaunch
