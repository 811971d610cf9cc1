// Parses the words after `dllaunch` into a command to run. Runs nothing.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "launcher/cli/command.hpp"
#include "launcher/cli/command_options.hpp"

namespace dllaunch {

enum class ColorChoice { automatic, always, never };  // as typed: auto|always|never

/// A command with its options, ready to run.
struct Invocation {
  const Command* command = nullptr;
  ColorChoice color = ColorChoice::automatic;
  int verbosity = 0;
  bool prints_a_file = false;  // prints a script or patch, whose bytes must not change
  CommandBody body;
  std::shared_ptr<CommandOptions> options;  // kept alive for the body
};

/// Requested text: help or a version.
struct Answer {
  std::string text;
};

using Parsed = std::variant<Invocation, Answer>;

/// The command to run, or requested text. `dllaunch FILE ...` means `dllaunch run FILE ...`;
/// `exists` tells whether a word names a file. --color, -v and -q may precede or follow the
/// command. bad_request: a word is not understood.
Result<Parsed> parse_command_line(std::span<const CommandGroup> known,
                                  const std::vector<std::string>& args,
                                  const std::function<bool(const std::string&)>& exists);

/// The text of `dllaunch --help`.
std::string render_help(std::span<const CommandGroup> known);

/// The command of that name; nullptr: none.
const Command* find_command(std::span<const CommandGroup> known, std::string_view name);

/// The options of a command, hidden ones included; nullptr: those that may precede a command.
std::vector<OptionText> options_of(const Command* command);

/// Where in the command line its command is, or where it would be. Only options precede it.
std::size_t position_of_command(std::span<const std::string> args);

/// The exit code for a failed command.
int exit_code_of(ErrorKind kind);

}  // namespace dllaunch
