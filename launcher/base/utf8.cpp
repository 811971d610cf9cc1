#include "launcher/base/utf8.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cstdint>

namespace dllaunch {
namespace {

/// Visits each character, or invalid byte, until `see(character)` returns false.
template <typename See>
void each_character(std::string_view text, See see) {
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t length = std::max<std::size_t>(1, utf8_length(text.substr(at)));
    if (!see(text.substr(at, length))) return;
    at += length;
  }
}

/// The code point of a character of two or more bytes.
std::uint32_t point_of(std::string_view character) {
  std::uint32_t point =
      static_cast<unsigned char>(character[0]) & (0xffU >> (character.size() + 1));
  for (const char byte : character.substr(1)) {
    point = (point << 6U) | (static_cast<unsigned char>(byte) & 0x3fU);
  }
  return point;
}

bool is_high_control(std::uint32_t point) {
  const bool turns_text = point == 0x061c || point == 0x200e || point == 0x200f ||
                          (point >= 0x202a && point <= 0x202e) ||
                          (point >= 0x2066 && point <= 0x2069);
  return (point >= 0x7f && point < 0xa0) || turns_text;
}

}  // namespace

std::size_t utf8_length(std::string_view text) {
  if (text.empty()) return 0;
  const auto first = static_cast<unsigned char>(text[0]);
  if (first < 0x80) return 1;
  const std::size_t length = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
  if (first < 0xc2 || first > 0xf4 || text.size() < length) return 0;

  for (std::size_t i = 1; i < length; ++i) {
    if ((static_cast<unsigned char>(text[i]) & 0xc0U) != 0x80U) return 0;
  }
  const std::uint32_t point = point_of(text.substr(0, length));
  const bool overlong = (length == 3 && point < 0x800) || (length == 4 && point < 0x10000);
  const bool surrogate = point >= 0xd800 && point <= 0xdfff;
  return overlong || surrogate || point > 0x10ffff ? 0 : length;
}

int characters_in(std::string_view text) {
  int count = 0;
  each_character(text, [&](std::string_view) {
    ++count;
    return true;
  });
  return count;
}

std::string_view first_bytes(std::string_view text, std::size_t most) {
  if (text.size() <= most) return text;
  constexpr std::size_t longest = 4;
  for (std::size_t end = most; end > 0 && most - end < longest; --end) {
    // A character that straddles the cut.
    const auto length = utf8_length(text.substr(end - 1));
    if (end - 1 + length > most) return text.substr(0, end - 1);
  }
  return text.substr(0, most);
}

std::string visible(std::string_view character) {
  const auto first = static_cast<unsigned char>(character.front());
  if (character == "\n") return "\\n";
  if (character == "\t") return "\\t";
  if (character == "\r") return "\\r";
  const bool lone_byte = character.size() == 1 && first >= 0x80;
  if (first < 0x20 || lone_byte) return fmt::format("\\x{:02x}", first);
  const std::uint32_t point = character.size() == 1 ? first : point_of(character);
  return is_high_control(point) ? fmt::format("\\u{:04x}", point) : std::string(character);
}

std::string in_quotes(std::string_view text) {
  constexpr int most = 60;
  std::string shown = "'";
  int count = 0;
  each_character(text, [&](std::string_view character) {
    if (count++ == most) {
      shown += "...";
      return false;
    }
    shown += visible(character);
    return true;
  });
  return shown + "'";
}

std::string printable(std::string_view text) {
  const auto is_plain = [](char c) { return (c >= ' ' && c <= '~') || c == '\t'; };
  if (std::ranges::all_of(text, is_plain)) return std::string(text);
  std::string shown;
  each_character(text, [&](std::string_view character) {
    shown += character == "\t" ? "\t" : visible(character);
    return true;
  });
  return shown;
}

}  // namespace dllaunch
