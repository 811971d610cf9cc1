// A JSON value as YAML for people.
#pragma once

#include <string>

#include "support/json.hpp"

namespace dllaunch {

/// Block style for mappings, one line for sequences of plain values. Text that YAML could take for
/// something else (00:30:00, yes, 1e3) is quoted, so that reading it gives the same value.
std::string to_yaml(const Json& value);

}  // namespace dllaunch
