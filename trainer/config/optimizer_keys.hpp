// The keys of `optimizer:` and `lr_schedule:`, generated from the tables of optimisers and decays.
#pragma once

#include <vector>

#include "trainer/config/config_keys.hpp"

namespace dllaunch {

std::vector<ConfigKey> optimizer_keys();
std::vector<ConfigKey> schedule_keys();

}  // namespace dllaunch
