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

/// All differences, in the same form.
std::vector<std::string> all_changes(const Json& before, const Json& now);

/// The differences that another start of the ranks in the same allocation cannot take up, in the
/// same form: those in what the allocation, its script or the ranks' starter has used already.
std::vector<std::string> changes_beyond_ranks(const Json& before, const Json& now);

}  // namespace dllaunch
