// From the words after `dllaunch` to the command they mean. Runs nothing.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "launcher/cli/command.hpp"

namespace dllaunch {

enum class ColorChoice { automatic, always, never };  // typed: auto|always|never

/// A command with its options, ready to run.
struct Invocation {
  const Command* command = nullptr;
  ColorChoice color = ColorChoice::automatic;
  int verbosity = 0;
  bool prints_a_file = false;  // a script or a patch: its bytes matter
  CommandBody body;
  std::shared_ptr<CommandOptions> options;  // the body may look at them
};

/// Text that was asked for: help or a version.
struct Answer {
  std::string text;
};

using Parsed = std::variant<Invocation, Answer>;

/// `dllaunch FILE ...` means `dllaunch run FILE ...`; `exists` says whether a word names a file.
/// --color, -v and -q may stand before or after the command. `known`: the commands there are.
/// bad_request: anything not understood.
Result<Parsed> parse_command_line(std::span<const CommandGroup> known,
                                  const std::vector<std::string>& args,
                                  const std::function<bool(const std::string&)>& exists);

/// `dllaunch --help`.
std::string render_help(std::span<const CommandGroup> known);

/// The exit code a failed command ends with.
int exit_code_of(ErrorKind kind);

}  // namespace dllaunch
