// What a YAML scalar means by the core schema of YAML 1.2.
#pragma once

#include "launcher/config/yaml_tree.hpp"
#include "support/json.hpp"

namespace dllaunch {

/// null, a boolean, a whole number of 64 bits, any other finite number, or text. Quoted scalars are
/// text; so is what YAML 1.1 took for numbers and booleans (00:30:00, yes), .inf and .nan.
Json scalar_value(const YamlNode& node);

}  // namespace dllaunch
