// The keys of `optimizer:`, `ema:` and `lr_schedule:`, generated from the tables of optimisers and
// decays.
#pragma once

#include <string_view>
#include <vector>

#include "trainer/config/config_keys.hpp"

namespace dllaunch {

std::vector<ConfigKey> optimizer_keys();

/// The keys of `ema:`.
std::vector<ConfigKey> average_keys();

/// What `options` has for the option of this name, "lr"; null: no optimiser has such an option.
Json option_value(const OptimizerOptions& options, std::string_view name);

std::vector<ConfigKey> schedule_keys();

}  // namespace dllaunch
