// The one place where text leaves for a terminal: what others wrote may not command it.
#pragma once

#include <string>
#include <string_view>

namespace dllaunch {

/// Which sequences of our own the terminal is meant to obey.
struct TerminalCommands {
  bool colors = false;  // those that dllaunch uses, no others
  bool redraw = false;  // a live line erases itself
};

/// Whether terminal_text() would return `text` as it is; costs one look at each byte.
bool is_terminal_text(std::string_view text);

/// The text with every other control character spelled out (visible()); line ends and tabs stay.
/// JSON keeps its meaning: it holds controls from U+007F on only within its strings, where they
/// become escapes of JSON.
std::string terminal_text(std::string_view text, const TerminalCommands& commands = {});

}  // namespace dllaunch
