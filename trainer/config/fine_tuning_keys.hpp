// The `train:` keys for fine-tuning pretrained weights.
#pragma once

#include <string>
#include <vector>

#include "trainer/config/config_keys.hpp"

namespace dllaunch {

std::vector<ConfigKey> fine_tuning_keys();

/// Checks combinations of keys. Returns one line per problem.
std::vector<std::string> check_fine_tuning(const TrainConfig& config);

}  // namespace dllaunch
