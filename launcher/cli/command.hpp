// A command: its summary, examples, options and body. One file per command.
// Does not know what any command does.
#pragma once

#include <functional>
#include <span>
#include <string_view>

#include "launcher/base/exit_code.hpp"
#include "launcher/os/system.hpp"
#include "support/result.hpp"

namespace dllaunch {

class CommandOptions;

/// Runs after the command line is parsed; returns the exit code.
using CommandBody = std::function<Result<int>(System&)>;

struct Command {
  std::string_view name;
  std::string_view summary;   // its line in `dllaunch --help`
  std::string_view examples;  // shown first in `dllaunch COMMAND --help`
  /// Adds the command's options to its subcommand; returns its body.
  CommandBody (*declare)(CommandOptions& app);
  /// Prints once, and possibly more than a terminal shows: long output goes to the pager.
  bool pages = false;
};

/// A heading of `dllaunch --help`.
struct CommandGroup {
  std::string_view title;
  std::span<const Command* const> commands;
};

/// All commands of a program, in help order. The build generates the table: dllaunch_commands in
/// launcher/CMakeLists.txt.
std::span<const CommandGroup> command_groups();

}  // namespace dllaunch
