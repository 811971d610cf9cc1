// Reads a sweep's directory back.
#pragma once

#include <optional>
#include <string>

#include "launcher/os/system.hpp"
#include "launcher/sweep/sweep.hpp"
#include "support/result.hpp"

namespace dllaunch {

/// nullopt: the directory holds no sweep. bad_request: sweep.json is damaged.
Result<std::optional<Sweep>> stored_sweep(System& system, const std::string& dir);

/// bad_request: the directory holds a run, or the sweep of another job file, whose results cannot
/// be compared with those of this one.
Result<Ok> check_same_sweep(System& system, const std::string& dir, const Sweep& sweep);

}  // namespace dllaunch
