// Decides whether a run directory may be reused with a changed job file.
#pragma once

#include <string>
#include <vector>

#include "support/json.hpp"

namespace dllaunch {

/// The differences between two resolved jobs that affect what is computed, as "train.batch_size: 64
/// -> 128", in file order. Training duration, checkpoint frequency, resources and limits may change
/// between runs in one directory. Pure.
std::vector<std::string> changes_that_matter(const Json& before, const Json& now);

}  // namespace dllaunch
