// The keys of `train.checkpoint:`.
#pragma once

#include <vector>

#include "trainer/config/config_keys.hpp"

namespace dllaunch {

std::vector<ConfigKey> checkpoint_keys();

}  // namespace dllaunch
