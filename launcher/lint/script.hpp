// A batch script as Slurm and bash would take it: its directives, and what it would run.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "launcher/lint/bash/given_options.hpp"
#include "launcher/lint/bash/shell_run.hpp"

namespace dllaunch::lint {

/// What sbatch would find in the lines before the first command.
struct Directives {
  std::vector<Text> words = {};         // of all lines, as sbatch splits them
  std::vector<std::size_t> lines = {};  // offset of the line of each word
  ParsedOptions parsed = {};
  std::size_t het_job = 0;  // > 0: where another component begins, which is not read
  struct Fault {
    std::size_t at = 0;
    std::string what = {};
  };
  std::vector<Fault> faults = {};          // unmatched quotes, stray colons
  std::vector<std::size_t> late = {};      // #SBATCH lines behind the first command
  std::size_t first_command = 0;           // offset of its line; npos: none
  std::vector<std::size_t> mistyped = {};  // lines that were meant to be directives
};

Directives read_directives(std::string_view text);

/// A command that starts the ranks of a step.
struct Launch {
  const RanCommand* command = nullptr;
  std::string program = {};          // srun, mpirun, torchrun, ...
  std::size_t begin = 0;             // index of the program in the command's words
  std::vector<Text> arguments = {};  // all words behind it
  ParsedOptions options = {};        // srun only
  std::vector<Text> ranks = {};      // srun only: the command that every rank runs
};

/// What the job or one of its steps asks for. -1: not said, or not known.
struct Request {
  long nodes = -1;
  long ntasks = -1;
  long ntasks_per_node = -1;
  long cpus_per_task = -1;
  long gpus_per_node = -1;
  long gpus_per_task = -1;
  long gpus = -1;
  bool wants_gpus = false;
  bool exclusive = false;
  bool node_range = false;  // --nodes=2-4

  /// Tasks on one node, from whatever was said; -1: not known.
  long tasks_per_node() const;
  /// GPUs of one node; -1: not known.
  long node_gpus() const;
  /// Tasks of the whole; -1: not known.
  long tasks() const;
};

struct Script {
  std::string_view text = {};
  bool is_shell = false;  // the interpreter is a Bourne shell
  Directives directives = {};
  ShellTree tree = {};
  ShellRun run = {};
  std::vector<Launch> launches = {};
  Request request = {};  // of the directives

  /// A directive's option; null where it is not given.
  const GivenOption* directive(std::string_view name) const {
    return last_option(directives.parsed, name);
  }
  /// Offset of an option's first byte.
  std::size_t at(const GivenOption& option) const {
    return directives.words[option.word].source(option.at);
  }
};

/// The text holds no NUL. `script.text` refers to it.
Script read_script(std::string_view text);

/// What the step asks for: its own options, else those of the job.
Request step_request(const Script& script, const Launch& launch);
/// "8", "a100:8", "a100:4,v100:4" of --gpus-per-node; -1 not known.
long gpu_count(const Text& value);
/// From --gres=gpu:a100:8; -1 where it names no GPU, or the count is not known.
long gres_gpu_count(const Text& value, bool& names_gpu);

}  // namespace dllaunch::lint
