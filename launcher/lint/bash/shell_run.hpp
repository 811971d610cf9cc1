// What a shell script would do, as far as that can be known without running it.
#pragma once

#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "launcher/lint/bash/shell_tree.hpp"
#include "launcher/lint/bash/variables.hpp"

namespace dllaunch::lint {

/// A command with its words as the program would get them.
struct RanCommand {
  std::vector<Text> words = {};
  std::size_t begin = 0;
  std::size_t end = 0;
  bool per_rank = false;    // runs in every rank: inside `srun bash -c '...'` or a wrapper script
  bool background = false;  // followed by &
  bool in_loop = false;
  bool in_function_unseen = false;  // of a function that nobody calls
  /// For commands that start ranks: what they inherit, by name.
  std::map<std::string, ValuePtr> environment = {};
};

struct Assigned {
  std::string name = {};
  Text value = {};
  std::size_t begin = 0;  // of NAME=VALUE
  std::size_t end = 0;
  std::size_t value_begin = 0;
  bool plain = true;  // NAME=VALUE; not +=, an array or an element of one
  bool exported = false;
  bool per_rank = false;
};

struct ShellRun {
  std::vector<RanCommand> commands = {};  // in the order of the walk
  std::vector<Assigned> assignments = {};
  std::vector<Text> rank_scripts = {};  // files written on the way that every rank runs
  std::set<std::string> assigned = {};  // anywhere in the script
  std::map<std::string, std::vector<std::size_t>> read = {};  // name -> where it is expanded
  bool sources_files = false;  // `source` of a file that may set anything; eval of unknown text
  bool nounset = false;        // set -u
};

/// Walks every branch once. Names that only the environment can hold (SLURM_*, HOME, everything in
/// capitals) are unknown; other names that nothing in the script sets are empty.
ShellRun run_shell(const ShellTree& tree, std::string_view script);

/// Names that the commands under `node` may change.
void assigned_names(const Node& node, std::set<std::string>& names);

/// Capitals and digits: what people export.
bool may_be_inherited(std::string_view name);

}  // namespace dllaunch::lint
