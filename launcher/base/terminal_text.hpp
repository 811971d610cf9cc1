// Filters all text that goes to a terminal: foreign text must not control it.
#pragma once

#include <string>
#include <string_view>

namespace dllaunch {

/// Which of dllaunch's own control sequences pass through.
struct TerminalCommands {
  bool colors = false;  // only those that dllaunch uses
  bool redraw = false;  // a live line erases itself
};

/// Whether terminal_text() would return `text` unchanged. One pass over the bytes.
bool is_terminal_text(std::string_view text);

/// The text with all other control characters escaped (visible()), except newlines and tabs. JSON
/// keeps its meaning: it holds controls from U+007F on only in strings, where they become JSON
/// escapes.
std::string terminal_text(std::string_view text, const TerminalCommands& commands = {});

}  // namespace dllaunch
