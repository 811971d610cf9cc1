// The value of a YAML scalar under the core schema of YAML 1.2.
#pragma once

#include "launcher/config/yaml_tree.hpp"
#include "support/json.hpp"

namespace dllaunch {

/// null, a boolean, a 64-bit integer, another finite number, or text. Quoted scalars are text; so
/// are .inf, .nan, and YAML 1.1 numbers and booleans (00:30:00, yes).
Json scalar_value(const YamlNode& node);

}  // namespace dllaunch
