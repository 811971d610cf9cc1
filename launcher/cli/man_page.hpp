// Man pages, in the language of man(7), from the same table as the help texts.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "launcher/cli/command_help.hpp"

namespace dllaunch {

/// dllaunch-COMMAND.1
std::string render_man_page(const Command& command, const CommandHelp& help);

/// dllaunch.1: all commands. More sections may follow.
std::string render_man_page(std::span<const CommandGroup> known);

/// A section of text that keeps its lines.
std::string man_section(std::string_view title, std::string_view text);

}  // namespace dllaunch
