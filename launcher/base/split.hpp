// Splits text, and parses numbers.
#pragma once

#include <charconv>
#include <optional>
#include <string_view>
#include <system_error>
#include <vector>

namespace dllaunch {

/// The lines without their newlines; no empty line after the last newline.
std::vector<std::string_view> split_lines(std::string_view text);

/// The parts between separators: one more than there are separators.
std::vector<std::string_view> split_at(std::string_view text, char separator);

/// The number that the whole text represents, else nullopt.
template <typename Number>
std::optional<Number> parse_number(std::string_view text) {
  Number number{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return number;
}

}  // namespace dllaunch
