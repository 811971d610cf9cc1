// Shows text that is longer than the terminal in the user's pager.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace dllaunch {

constexpr std::string_view default_pager = "less";

/// The shell command of the pager: DLLAUNCH_PAGER, else PAGER, else less. Empty: none is wanted.
std::string pager_command(const std::optional<std::string>& own,
                          const std::optional<std::string>& general);

/// Whether `text` needs more lines than a terminal of that size has. Colours take no room.
bool is_longer_than(std::string_view text, int lines, int columns);

/// Returns once the user leaves the pager. False: it could not be started, and nothing was shown.
bool show_in_pager(const std::string& command, std::string_view text);

}  // namespace dllaunch
