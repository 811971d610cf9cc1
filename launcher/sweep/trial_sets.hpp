// How a trial's parameters get into its run.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "launcher/job/job.hpp"
#include "support/json.hpp"
#include "support/result.hpp"

namespace dllaunch {

/// Whether a parameter is a key of the job file; else it is a {placeholder} of `run:`.
bool is_job_key(const std::string& parameter);

/// Options --set of a trial that is to train `target` epochs (0: as the job says); a variable of a
/// `run:` gets them as {epochs}. A learning rate that falls until the end of the training does so
/// over all of its epochs, also where a trial stops before. In a text that bash runs, values are
/// quoted for it. bad_request: a parameter that is neither a key nor a placeholder; a `run:`
/// without {epochs} that is to stop early.
Result<std::vector<std::string>> sets_of_trial(const Job& job, const Json& parameters,
                                               std::int64_t target, std::int64_t all_epochs);

}  // namespace dllaunch
