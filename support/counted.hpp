// A number with its noun, for people.
#pragma once

#include <fmt/core.h>

#include <cstdint>
#include <string>
#include <string_view>

namespace dllaunch {

/// "1 rank", "2 ranks", "0 processes"; for nouns whose plural adds s or es.
inline std::string counted(std::int64_t count, std::string_view noun) {
  return fmt::format("{} {}{}", count, noun, count == 1 ? "" : noun.ends_with('s') ? "es" : "s");
}

}  // namespace dllaunch
