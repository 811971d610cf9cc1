// What a YAML scalar means by the core schema of YAML 1.2.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "launcher/config/yaml_tree.hpp"

namespace dllaunch {

/// null, a boolean, a whole number of 64 bits, any other finite number, or text. Quoted scalars are
/// text; so is what YAML 1.1 took for numbers and booleans (00:30:00, yes), .inf and .nan.
nlohmann::ordered_json scalar_value(const YamlNode& node);

}  // namespace dllaunch
