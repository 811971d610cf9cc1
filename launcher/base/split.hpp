// Text taken apart.
#pragma once

#include <charconv>
#include <optional>
#include <string_view>
#include <system_error>
#include <vector>

namespace dllaunch {

/// Without their ends; no line after the last end.
std::vector<std::string_view> split_lines(std::string_view text);

/// Nothing unless the text is such a number as a whole.
template <typename Number>
std::optional<Number> parse_number(std::string_view text) {
  Number number{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return number;
}

}  // namespace dllaunch
