// Which tasks of an array run are still to be done.
#pragma once

#include <optional>
#include <string>

#include "launcher/os/system.hpp"
#include "launcher/run/run_dir.hpp"
#include "launcher/slurm/array_tasks.hpp"

namespace dllaunch {

/// Returns those of `tasks` whose last start did not complete, or that never started.
ArrayTasks tasks_left(const RunDir& run, ArrayTasks tasks);

/// Leaves the others out of `array`, "0-9%2", of a job that continues in `run_dir`. false: none is
/// left; `array` then stays as it is.
bool leave_out_completed(const std::string& run_dir, std::optional<std::string>& array);

}  // namespace dllaunch
