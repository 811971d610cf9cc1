// Help texts: examples first, then options, each on one screen of 80 columns.
#pragma once

#include <string>
#include <vector>

#include "launcher/cli/command.hpp"
#include "launcher/cli/command_options.hpp"

namespace dllaunch {

/// The heading for --color, -v, -q and --help; a command's own options come first.
constexpr const char* global_group = "Everywhere";

struct HelpRow {
  std::string name = {};  // "    --set KEY=VALUE"
  std::string what = {};  // may be empty
};

/// What the help and the man page of a command show beside its summary.
struct CommandHelp {
  std::string usage = {};  // "dllaunch run JOB.yaml [OPTIONS]"
  std::vector<HelpRow> examples = {};
  std::vector<HelpRow> options = {};
  std::vector<HelpRow> everywhere = {};
};

CommandHelp help_of(const Command& command, const std::vector<OptionText>& options);

/// The text of `dllaunch COMMAND --help`.
std::string render_command_help(const Command& command, const CommandHelp& help);

/// Names, and what they are in the column behind. A name wider than the column, which is at most
/// `widest`, gets its own line.
std::string render_rows(const std::vector<HelpRow>& rows, std::size_t widest = 30);

}  // namespace dllaunch
