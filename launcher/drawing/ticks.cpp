#include "launcher/drawing/ticks.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

namespace dllaunch {
namespace {

/// 10, exactly where a double can be.
double power_of_ten(int exponent) {
  return std::pow(10.0, exponent);
}

/// Steps and sums of it are finite, and not 0 unless it is.
double drawable(double value) {
  constexpr double largest = 1e300;
  return std::abs(value) < 1 / largest ? 0.0 : std::clamp(value, -largest, largest);
}

/// The next larger of 1, 2, 5 times a power of ten.
double round_step(double least) {
  const double power = power_of_ten(static_cast<int>(std::floor(std::log10(least))));
  for (const double factor : {1.0, 2.0, 5.0}) {
    if (factor * power >= least * (1 - 1e-9)) return factor * power;
  }
  return 10 * power;
}

std::string with_thousands(double value) {
  std::string digits = fmt::format("{:.0f}", std::abs(value));
  for (auto at = std::ssize(digits) - 3; at > 0; at -= 3)
    digits.insert(static_cast<std::size_t>(at), ",");
  return (value < 0 ? "-" : "") + digits;
}

/// Other numbers have an exponent: their zeros could not be counted.
bool has_plain_digits(double size) {
  return size == 0 || (size >= 1e-6 && size < 1e12);
}

/// With as many decimals as the step between two ticks needs.
std::string label_of(double value, double step) {
  if (!has_plain_digits(std::max(std::abs(value), step))) return fmt::format("{:.4g}", value);
  if (step >= 1) return with_thousands(value);
  const int decimals = static_cast<int>(std::ceil(-std::log10(step) - 1e-9));
  return fmt::format("{:.{}f}", value == 0 ? 0.0 : value, decimals);
}

}  // namespace

double Ticks::share(double value) const {
  if (logarithmic) return (std::log(value) - std::log(low)) / (std::log(high) - std::log(low));
  return (value - low) / (high - low);
}

Ticks linear_ticks(double low, double high, int most) {
  if (low > high) std::swap(low, high);
  low = drawable(low);
  high = drawable(high);
  if (high - low <= 1e-9 * std::max(std::abs(low), std::abs(high))) {
    const double around = low == 0 ? 1 : 0.1 * std::abs(low);
    low -= around;
    high += around;
  }
  double step = round_step((high - low) / std::max(1, most - 1));
  const auto ticks_at = [&] {
    return std::pair(std::floor(low / step + 1e-9), std::ceil(high / step - 1e-9));
  };
  while (ticks_at().second - ticks_at().first > std::max(2, most - 1))
    step = round_step(1.5 * step);
  const auto [first, last] = ticks_at();
  Ticks ticks{.low = first * step, .high = last * step};
  for (double i = first; i <= last; ++i) {
    ticks.at.push_back(i * step);
    ticks.labels.push_back(label_of(i * step, step));
  }
  return ticks;
}

Ticks logarithmic_ticks(double low, double high, int most) {
  if (low > high) std::swap(low, high);
  low = drawable(low);
  high = drawable(high);
  if (!(low > 0) || high / low < 2) return linear_ticks(low, high, most);
  Ticks ticks{.low = low, .high = high, .logarithmic = true};
  const int first = static_cast<int>(std::floor(std::log10(low)));
  const int last = static_cast<int>(std::ceil(std::log10(high)));
  const auto add = [&](double value) {
    if (value < low * (1 - 1e-9) || value > high * (1 + 1e-9)) return;
    ticks.at.push_back(value);
    ticks.labels.push_back(short_number(value));
  };
  const int decades_a_tick = std::max(1, (last - first + most - 1) / most);
  for (int exponent = first; exponent <= last; exponent += decades_a_tick) {
    const double power = power_of_ten(exponent);
    add(power);
    if (3 * std::log10(high / low) > most) continue;
    add(2 * power);
    add(5 * power);
  }
  return ticks.at.size() < 3 ? linear_ticks(low, high, most) : ticks;
}

std::string short_number(double value, int digits) {
  if (!std::isfinite(value)) return std::isnan(value) ? "" : value > 0 ? "inf" : "-inf";
  const double size = std::abs(value);
  if (size >= 1000 && has_plain_digits(size)) return with_thousands(value);
  if (size == 0 || size >= 1e-4 || !has_plain_digits(size))
    return fmt::format("{:.{}g}", value, digits);
  const int decimals = digits - 1 - static_cast<int>(std::floor(std::log10(size)));
  auto text = fmt::format("{:.{}f}", value, decimals);
  text.resize(text.find_last_not_of('0') + 1);
  return text;
}

}  // namespace dllaunch
