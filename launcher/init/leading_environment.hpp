// What a script sets before anything else, as keys of `environment`.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "launcher/lint/bash/shell_tree.hpp"

namespace dllaunch {

struct LeadingEnvironment {
  std::vector<std::string> modules = {};                            // module load
  std::string activate = {};                                        // source VENV/bin/activate
  std::vector<std::pair<std::string, std::string>> variables = {};  // export NAME=value
  std::size_t end = 0;                                              // where the rest begins
};

/// Of the commands between two offsets, those at the start that mean the same as the keys, which
/// take effect in the order above. Pure.
LeadingEnvironment read_leading_environment(std::span<const lint::Node* const> commands,
                                            std::size_t begin, std::size_t end);

}  // namespace dllaunch
