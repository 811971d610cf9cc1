// A batch script as Slurm and bash read it: its directives, and the commands it would run.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "launcher/lint/bash/given_options.hpp"
#include "launcher/lint/bash/shell_run.hpp"

namespace dllaunch::lint {

/// What sbatch reads in the lines before the first command.
struct Directives {
  std::vector<Text> words = {};         // of all lines, split as sbatch does
  std::vector<std::size_t> lines = {};  // offset of each word's line
  ParsedOptions parsed = {};
  std::size_t het_job = 0;  // > 0: start of another heterogeneous component, not read
  struct Fault {
    std::size_t at = 0;
    std::string what = {};
  };
  std::vector<Fault> faults = {};          // unmatched quotes, stray colons
  std::vector<std::size_t> late = {};      // #SBATCH lines after the first command
  std::size_t first_command = 0;           // offset of its line; npos: none
  std::vector<std::size_t> mistyped = {};  // lines that look like intended directives
};

Directives read_directives(std::string_view text);

/// A command that starts the ranks of a step.
struct Launch {
  const RanCommand* command = nullptr;
  std::string program = {};          // srun, mpirun, torchrun, ...
  std::size_t begin = 0;             // the program's index in the command's words
  std::vector<Text> arguments = {};  // all words after it
  ParsedOptions options = {};        // srun only
  std::vector<Text> ranks = {};      // srun only: the command of each rank
};

/// The resources that the job or a step requests. -1: not given, or unknown.
struct Request {
  long nodes = -1;
  long ntasks = -1;
  long ntasks_per_node = -1;
  long cpus_per_task = -1;
  long gpus_per_node = -1;
  long gpus_per_task = -1;
  long gpus = -1;
  bool wants_gpus = false;
  bool exclusive = false;   // whole nodes: --exclusive without =user, =mcs or =topo
  bool node_range = false;  // --nodes=2-4

  /// Tasks per node, from any combination of options; -1: unknown.
  long tasks_per_node() const;
  /// GPUs per node; -1: unknown.
  long node_gpus() const;
  /// Total number of tasks; -1: unknown.
  long tasks() const;
};

struct Script {
  std::string_view text = {};
  bool is_shell = false;  // the interpreter is a Bourne shell
  Directives directives = {};
  ShellTree tree = {};
  ShellRun run = {};
  std::vector<Launch> launches = {};
  Request request = {};  // from the directives

  /// An option of the directives; null if not given.
  const GivenOption* directive(std::string_view name) const {
    return last_option(directives.parsed, name);
  }
  /// The offset of an option's first byte.
  std::size_t at(const GivenOption& option) const {
    return directives.words[option.word].source(option.at);
  }
};

/// Parses a script. The text must not contain NUL; `script.text` refers to it.
Script read_script(std::string_view text);

/// The request of a step: its own options, else the job's.
Request step_request(const Script& script, const Launch& launch);
/// The count in --gpus-per-node: "8", "a100:8", "a100:4,v100:4"; -1: unknown.
long gpu_count(const Text& value);
/// The GPU count in --gres=gpu:a100:8; -1 if it names no GPU or the count is unknown.
long gres_gpu_count(const Text& value, bool& names_gpu);

}  // namespace dllaunch::lint
