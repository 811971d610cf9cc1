// Writes a JSON value as readable YAML.
#pragma once

#include <string>

#include "support/json.hpp"

namespace dllaunch {

/// Block style for mappings, one line for sequences of scalars. Quotes ambiguous text (00:30:00,
/// yes, 1e3), so that reading it back gives the same value.
std::string to_yaml(const Json& value);

}  // namespace dllaunch
