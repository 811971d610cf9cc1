// Help texts: examples first, then options, each on one screen.
#pragma once

#include <string>

#include "launcher/cli/command.hpp"

namespace dllaunch {

/// The heading for --color, -v, -q and --help; a command's own options come first.
constexpr const char* global_group = "Everywhere";

/// The text of `dllaunch COMMAND --help`.
std::string render_command_help(const Command& command, const CommandOptions& known);

}  // namespace dllaunch
