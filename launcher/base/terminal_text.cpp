#include "launcher/base/terminal_text.hpp"

#include <algorithm>
#include <array>

#include "launcher/base/utf8.hpp"

namespace dllaunch {
namespace {

constexpr std::array<std::string_view, 9> colors = {"\x1b[0m",    "\x1b[1m",    "\x1b[2m",
                                                    "\x1b[1;31m", "\x1b[1;32m", "\x1b[1;33m",
                                                    "\x1b[1;34m", "\x1b[1;35m", "\x1b[1;36m"};
constexpr std::string_view erase_line = "\r\x1b[K";

bool is_plain(char c) {
  return (c >= ' ' && c <= '~') || c == '\n' || c == '\t';
}

/// The length of the permitted sequence at the start of `text`; 0: none.
std::size_t command_length(std::string_view text, const TerminalCommands& commands) {
  if (commands.redraw && text.starts_with(erase_line)) return erase_line.size();
  const auto color =
      std::ranges::find_if(colors, [&](std::string_view one) { return text.starts_with(one); });
  return commands.colors && color != colors.end() ? color->size() : 0;
}

}  // namespace

bool is_terminal_text(std::string_view text) {
  return std::ranges::all_of(text, is_plain);
}

std::string terminal_text(std::string_view text, const TerminalCommands& commands) {
  std::string shown;
  while (!text.empty()) {
    const auto plain =
        static_cast<std::size_t>(std::ranges::find_if_not(text, is_plain) - text.begin());
    shown += text.substr(0, plain);
    text.remove_prefix(plain);
    if (text.empty()) break;
    const std::size_t command = command_length(text, commands);
    const std::size_t length = std::max({std::size_t{1}, command, utf8_length(text)});
    if (command > 0)
      shown += text.substr(0, command);
    else
      shown += visible(text.substr(0, length));
    text.remove_prefix(length);
  }
  return shown;
}

}  // namespace dllaunch
