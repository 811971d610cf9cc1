// May a run directory be used again with this job file?
#pragma once

#include <string>
#include <vector>

#include "support/json.hpp"

namespace dllaunch {

/// Pure: the keys in which two resolved jobs differ and that decide what is computed, as
/// "train.batch_size: 64 -> 128", in the file's order. How long to train, how often to save, where
/// and with what limits to run may change between two runs in one directory.
std::vector<std::string> changes_that_matter(const Json& before, const Json& now);

}  // namespace dllaunch
