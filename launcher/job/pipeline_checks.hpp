// Checks on `runtime.pipeline` and `runtime.split_dense` of a job file: what they exclude.
#pragma once

#include <vector>

#include "launcher/config/yaml_tree.hpp"

namespace dllaunch {

/// The trainer refuses most of them too (trainer/config/pipeline_keys.cpp, split_keys.cpp), but
/// only after the queue.
std::vector<YamlProblem> check_pipeline(const YamlNode& root);
std::vector<YamlProblem> check_split(const YamlNode& root);

}  // namespace dllaunch
