// Keys of `train:` for training that goes on from somebody else's weights.
#pragma once

#include <string>
#include <vector>

#include "trainer/config/config_keys.hpp"

namespace dllaunch {

std::vector<ConfigKey> fine_tuning_keys();

/// What no single key can say; empty: nothing is wrong.
std::vector<std::string> check_fine_tuning(const TrainConfig& config);

}  // namespace dllaunch
