// Help texts: examples first, then options, each on one screen.
#pragma once

#include <string>

#include "launcher/cli/command.hpp"

namespace dllaunch {

/// Where --color, -v, -q and --help are listed; a command's own options stand above.
constexpr const char* global_group = "Everywhere";

/// `dllaunch VERB --help`.
std::string render_command_help(const Command& command, const CommandOptions& known);

}  // namespace dllaunch
