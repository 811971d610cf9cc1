// The `runtime.integrity:` keys: how often replicas compare what they hold.
#pragma once

#include <vector>

#include "trainer/config/config_keys.hpp"

namespace dllaunch {

std::vector<ConfigKey> integrity_keys();

}  // namespace dllaunch
