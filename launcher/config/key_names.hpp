// Finds the keys that a schema does not have, and what they probably mean.
#pragma once

#include <vector>

#include "launcher/config/yaml_tree.hpp"
#include "support/json.hpp"

namespace dllaunch {

/// The JSON Schema keyword of a key: its names in other tools, in lower case with underscores.
constexpr const char* also_keyword = "x-also";

/// A problem for each key that `schema` does not have. The tree then has the key that was meant, or
/// none in its place: later checks report no consequence of the mistake.
std::vector<YamlProblem> correct_keys(const Json& schema, YamlNode& root);

}  // namespace dllaunch
