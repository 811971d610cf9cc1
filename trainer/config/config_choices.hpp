// Keys that not every optimiser or decay has, and what no single key can say.
#pragma once

#include <string>
#include <vector>

#include "trainer/config/config_keys.hpp"

namespace dllaunch {

/// The default of a key in this document: of the word that is chosen there, where it has a choice.
Json initial_of(const ConfigKey& key, const Json& document);

/// A line per key that is given though the chosen word has none such, or missing though it needs
/// one. What is no document of keys is reported elsewhere.
std::vector<std::string> check_choices(const Json& document);

/// A line per problem of optimiser and schedule as a whole.
std::vector<std::string> check_update_rule(const TrainConfig& config);

}  // namespace dllaunch
