// The keys of `optimizer:` and `lr_schedule:`, made of the tables of optimisers and decays.
#pragma once

#include <vector>

#include "trainer/config/config_keys.hpp"

namespace dllaunch {

std::vector<ConfigKey> optimizer_keys();

/// What `options` has for the option of this name, "lr"; null: no optimiser has such an option.
nlohmann::ordered_json option_value(const OptimizerOptions& options, std::string_view name);

std::vector<ConfigKey> schedule_keys();

}  // namespace dllaunch
