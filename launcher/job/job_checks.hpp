// What no schema can say of a job file: keys that must go together.
#pragma once

#include <vector>

#include "launcher/config/yaml_tree.hpp"

namespace dllaunch {

std::vector<YamlProblem> check_together(const YamlNode& root);

}  // namespace dllaunch
