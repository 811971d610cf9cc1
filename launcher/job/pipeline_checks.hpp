// Checks on `runtime.pipeline` of a job file: what stages of a network exclude.
#pragma once

#include <vector>

#include "launcher/config/yaml_tree.hpp"

namespace dllaunch {

/// The trainer refuses most of them too (trainer/config/pipeline_keys.cpp), but only after the
/// queue.
std::vector<YamlProblem> check_pipeline(const YamlNode& root);

}  // namespace dllaunch
