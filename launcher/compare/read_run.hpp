// Reads runs, studies and sweeps for a comparison.
#pragma once

#include <string>

#include "launcher/compare/compared_run.hpp"
#include "launcher/os/system.hpp"
#include "support/result.hpp"

namespace dllaunch {

/// `query`: the directory of a study or a sweep, or what find_run() knows. A study is compared by
/// its largest size that has a value, with all its sizes; a sweep by its best trial. bad_request,
/// unavailable: it cannot be read, or has nothing to compare yet. What of a run is damaged is
/// noted.
Result<ComparedRun> read_compared(System& system, const std::string& query);

}  // namespace dllaunch
