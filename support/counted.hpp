// Numbers for people.
#pragma once

#include <fmt/core.h>

#include <cmath>
#include <cstdint>
#include <string>
#include <string_view>

namespace dllaunch {

/// "1 rank", "2 ranks", "0 processes", "2 batches"; for nouns whose plural adds s or es.
inline std::string counted(std::int64_t count, std::string_view noun) {
  const bool hisses = noun.ends_with('s') || noun.ends_with("tch");
  return fmt::format("{} {}{}", count, noun, count == 1 ? "" : hisses ? "es" : "s");
}

/// A loss, an accuracy: "0.4100"; "1.234e+06" where four decimals would say little.
inline std::string four_decimals(double value) {
  return std::abs(value) < 1e6 ? fmt::format("{:.4f}", value) : fmt::format("{:.4g}", value);
}

}  // namespace dllaunch
