// --set KEY.PATH=VALUE, put into the tree of a job file before it is checked.
#pragma once

#include <optional>
#include <string>

#include "launcher/config/yaml_tree.hpp"

namespace dllaunch {

/// Replaces or adds one key of `root`; marks of what is new point into `text`, source `source`.
/// Nodes that other keys share through aliases are not touched. A problem: not KEY.PATH=VALUE, a
/// VALUE that is no YAML, a path that leads through something other than blocks.
std::optional<YamlProblem> apply_override(YamlNode& root, const std::string& text, int source);

}  // namespace dllaunch
