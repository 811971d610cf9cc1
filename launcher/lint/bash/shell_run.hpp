// Follows what a bash script would run, without running it, and records the commands.
// Does not judge them; launcher/lint does.
#pragma once

#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "launcher/lint/bash/shell_tree.hpp"
#include "launcher/lint/bash/variables.hpp"

namespace dllaunch::lint {

/// A command with its words as the program would receive them.
struct RanCommand {
  std::vector<Text> words = {};
  std::size_t begin = 0;
  std::size_t end = 0;
  bool per_rank = false;    // run by every rank: in `srun bash -c '...'` or a wrapper script
  bool background = false;  // followed by &
  bool in_loop = false;
  bool in_function_unseen = false;  // in a function that is never called
  /// For launchers: selected variables that they inherit, by name.
  std::map<std::string, ValuePtr> environment = {};
};

struct Assigned {
  std::string name = {};
  Text value = {};
  std::size_t begin = 0;  // of NAME=VALUE
  std::size_t end = 0;
  std::size_t value_begin = 0;
  bool plain = true;  // NAME=VALUE; not +=, an array or an element
  bool exported = false;
  bool per_rank = false;
};

struct ShellRun {
  std::vector<RanCommand> commands = {};  // in the order visited
  std::vector<Assigned> assignments = {};
  std::vector<Text> rank_scripts = {};  // generated scripts that every rank runs
  std::set<std::string> assigned = {};  // anywhere in the script
  std::map<std::string, std::vector<std::size_t>> read = {};  // name -> where it is expanded
  bool sources_files = false;  // `source` of an arbitrary file, or eval of unknown text
  bool nounset = false;        // set -u
};

/// Walks every branch once. Unset names that may come from the environment (SLURM_*, HOME, all
/// capitals) are unknown; other unset names are empty.
ShellRun run_shell(const ShellTree& tree, std::string_view script);

/// The names that commands under `node` may change.
void assigned_names(const Node& node, std::set<std::string>& names);

/// Whether the name is capitals and digits, as exported variables are.
bool may_be_inherited(std::string_view name);

}  // namespace dllaunch::lint
