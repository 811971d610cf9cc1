// What a script sets before anything else, as keys of `environment`.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "launcher/lint/bash/shell_tree.hpp"

namespace dllaunch {

struct LeadingEnvironment {
  std::vector<std::string> modules = {};                            // module load
  std::string activate = {};                                        // source VENV/bin/activate
  std::vector<std::pair<std::string, std::string>> variables = {};  // export NAME=value
  std::size_t end = 0;                                              // where the rest begins
  std::vector<const lint::Node*> in_rest = {};                      // taken from there, in order
};

/// A script's commands from `begin` on that mean the same as the keys, which take effect in the
/// order above. Those in `passed` do not end them, and stay. Pure.
LeadingEnvironment read_leading_environment(std::string_view script, std::size_t begin,
                                            std::span<const lint::Node* const> commands,
                                            std::span<const lint::Node* const> passed = {});

}  // namespace dllaunch
