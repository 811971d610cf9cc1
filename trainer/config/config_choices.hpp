// Keys that exist only for some optimisers or decays, and checks across keys.
#pragma once

#include <string>
#include <vector>

#include "trainer/config/config_keys.hpp"

namespace dllaunch {

/// Returns the default of a key in this document. It may depend on the choice made there.
Json initial_of(const ConfigKey& key, const Json& document);

/// Returns one line for each key that the chosen word does not have or that it needs but is
/// missing. Ignores malformed documents, which are reported elsewhere.
std::vector<std::string> check_choices(const Json& document);

/// Returns one line per problem of optimiser and schedule together.
std::vector<std::string> check_update_rule(const TrainConfig& config);

}  // namespace dllaunch
