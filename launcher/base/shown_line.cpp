#include "launcher/base/shown_line.hpp"

#include <algorithm>

#include "launcher/base/utf8.hpp"

namespace dllaunch {
namespace {

/// The length of the escape sequence at the start of `text`; 0: none. CSI ends with a letter or one
/// of @[\]^_`{|}~, OSC with BEL or ESC \, the others are two bytes long.
std::size_t escape_length(std::string_view text) {
  constexpr char escape = '\x1b';
  if (text.size() < 2 || text[0] != escape) return 0;
  if (text[1] == '[') {
    std::size_t end = 2;
    while (end < text.size() && text[end] >= 0x20 && text[end] < 0x40) ++end;
    const bool ended = end < text.size() && text[end] >= 0x40 && text[end] <= 0x7e;
    return ended ? end + 1 : 0;
  }
  if (text[1] == ']') {
    const auto wake_event = text.find('\a');
    if (wake_event != std::string_view::npos) return wake_event + 1;
    const auto string_end = text.find("\x1b\\", 2);
    return string_end == std::string_view::npos ? 0 : string_end + 2;
  }
  return text[1] >= 0x30 && text[1] <= 0x7e ? 2 : 0;
}

}  // namespace

std::string shown_line(std::string_view line) {
  constexpr std::string_view special = "\x1b";
  if (line.find(special) == std::string_view::npos) return printable(line);
  std::string plain;
  plain.reserve(line.size());
  while (!line.empty()) {
    const std::size_t skipped = escape_length(line);
    if (skipped == 0) plain += line[0];
    line.remove_prefix(std::max<std::size_t>(1, skipped));
  }
  return printable(plain);
}

}  // namespace dllaunch
