// The number that a whole text is.
#pragma once

#include <charconv>
#include <optional>
#include <string_view>
#include <system_error>

namespace dllaunch {

/// nullopt: anything else stands in it, or it does not fit. No blanks and no '+' are skipped.
template <typename Number>
std::optional<Number> parse_number(std::string_view text) {
  Number number{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return number;
}

}  // namespace dllaunch
