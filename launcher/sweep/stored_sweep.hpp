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

/// Whether sweep.json is there and tells the job file. bad_request: the directory holds a run, or
/// the sweep of another job file, whose results cannot be compared with those of this one, or
/// trials whose journal is lost.
Result<bool> check_same_sweep(System& system, const std::string& dir, const Sweep& sweep);

}  // namespace dllaunch
