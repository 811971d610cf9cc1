// The key `runtime.split_dense`: dense layers split by columns among the ranks.
#pragma once

#include <string>
#include <vector>

#include "trainer/config/config_keys.hpp"

namespace dllaunch {

std::vector<ConfigKey> split_keys();

/// Checks combinations of keys. Returns one line per problem: why it is one, and what to do.
std::vector<std::string> check_split(const TrainConfig& config);

}  // namespace dllaunch
