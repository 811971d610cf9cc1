// The seeds of a job. Pure.
#pragma once

#include <map>
#include <string>

#include "support/json.hpp"

namespace dllaunch {

/// Keys of a resolved job that are or end with "seed", by their path: "train.seed" -> "7".
std::map<std::string, std::string> seeds_of(const Json& job);

}  // namespace dllaunch
