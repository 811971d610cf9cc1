// The words of srun in a script.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "launcher/lint/script.hpp"

namespace dllaunch {

/// A container as the options of enroot's plugin Pyxis have it: of srun, or of directives.
struct ContainerWords {
  std::string image = {};
  std::vector<std::string> mounts = {};

  /// Whether the option has a key of environment.container.
  bool take(std::string_view option, std::string_view value);
};

/// Whether the option belongs to Pyxis.
bool is_of_container(std::string_view option);

/// What --export says.
struct ExportList {
  bool all = false;
  std::vector<std::pair<std::string, std::string>> assigned = {};
};

ExportList read_export_list(std::string_view value);

struct SrunWords {
  std::size_t program = 0;  // index of the first word of what every rank runs
  ContainerWords container = {};
  std::vector<std::string> extra = {};  // options for the job's own srun
  std::vector<std::pair<std::string, std::string>> variables = {};  // --export=NAME=VALUE
  std::vector<std::string> exports = {};  // NAME=VALUE as written: only the script knows the value
  std::vector<std::string> dropped = {};  // "--label: each rank's output ..."
  std::string refusal = {};               // why the step cannot be converted; empty: it can
};

/// `words`: those of the command, srun's options from `begin` on. Pure.
SrunWords read_srun_words(const lint::Script& script, const lint::Launch& launch,
                          std::span<const lint::Word> words, std::size_t begin);

}  // namespace dllaunch
