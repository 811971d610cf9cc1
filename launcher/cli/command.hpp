// One command, one file: its options, its help and its body.
#pragma once

#include <functional>
#include <span>
#include <string_view>

#include "launcher/os/system.hpp"
#include "support/result.hpp"

namespace dllaunch {

class CommandOptions;

/// Exit codes that are not errors of dllaunch itself; the others follow from ErrorKind (main.cpp).
namespace exit_code {
constexpr int success = 0;
constexpr int job_failed = 1;
constexpr int bad_request = 2;
constexpr int environment = 3;
constexpr int found_problems = 4;
constexpr int do_not_requeue = 93;
}  // namespace exit_code

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

/// All commands, in help order. The table is written by the build: dllaunch_verbs in
/// launcher/CMakeLists.txt.
std::span<const Command* const> commands();
std::span<const CommandGroup> command_groups();

}  // namespace dllaunch
