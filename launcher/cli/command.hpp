// One command, one file: its options, its help and its body.
#pragma once

#include <functional>
#include <span>
#include <string_view>

#include "launcher/base/exit_code.hpp"
#include "launcher/os/system.hpp"
#include "support/result.hpp"

namespace dllaunch {

class CommandOptions;

/// Runs after the command line was parsed; returns the exit code.
using CommandBody = std::function<Result<int>(System&)>;

struct Command {
  std::string_view name;
  std::string_view summary;   // one line of `dllaunch --help`
  std::string_view examples;  // shown first in `dllaunch VERB --help`
  /// Adds the command's options to its sub-command and returns what to run.
  CommandBody (*declare)(CommandOptions& app);
};

/// One heading of `dllaunch --help`.
struct CommandGroup {
  std::string_view title;
  std::span<const Command* const> commands;
};

/// All commands of a program, in help order. The build writes the table: dllaunch_commands in
/// launcher/CMakeLists.txt.
std::span<const CommandGroup> command_groups();

}  // namespace dllaunch
