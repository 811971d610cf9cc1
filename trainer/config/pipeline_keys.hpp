// The `runtime.pipeline:` keys: a model cut into stages, each on ranks of its own.
#pragma once

#include <string>
#include <vector>

#include "trainer/config/config_keys.hpp"

namespace dllaunch {

std::vector<ConfigKey> pipeline_keys();

/// Checks combinations of keys. Returns one line per problem: why it is one, and what to do.
std::vector<std::string> check_pipeline(const TrainConfig& config);

}  // namespace dllaunch
