// Applies --set KEY.PATH=VALUE to the tree of a job file before it is checked.
#pragma once

#include <optional>
#include <string>

#include "launcher/config/yaml_tree.hpp"

namespace dllaunch {

/// Replaces or adds one key of `root`; marks of new nodes point into `text`, source `source`.
/// Leaves nodes that other keys share through aliases unchanged. Returns a problem if the text is
/// not KEY.PATH=VALUE, VALUE is not YAML, or the path leads through something other than blocks.
std::optional<YamlProblem> apply_override(YamlNode& root, const std::string& text, int source);

}  // namespace dllaunch
