// A batch script as Slurm and bash read it: its directives, and the commands it would run.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "launcher/lint/bash/given_options.hpp"
#include "launcher/lint/bash/shell_run.hpp"
#include "launcher/slurm/slurm_request.hpp"

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

struct Script {
  std::string_view text = {};
  bool is_shell = false;  // the interpreter is a Bourne shell
  Directives directives = {};
  ShellTree tree = {};
  ShellRun run = {};
  std::vector<Launch> launches = {};
  SlurmRequest request = {};  // from the directives

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
SlurmRequest step_request(const Script& script, const Launch& launch);

}  // namespace dllaunch::lint
