// Checks on a job file that no schema expresses: keys that depend on each other.
#pragma once

#include <vector>

#include "launcher/config/yaml_tree.hpp"

namespace dllaunch {

std::vector<YamlProblem> check_together(const YamlNode& root);

}  // namespace dllaunch
