// The files that decide what a run executes: job.yaml, plan.json, job.sbatch, components/ and
// autopsy/python. Where another user can put a directory in the place of the run's, or write in it,
// they are taken from copies in the user's state folder, which `dllaunch run` makes:
// $XDG_STATE_HOME/dllaunch/kept/. Whether that is so is judged where a run begins: its script and
// its ranks' command name the copies, and no node judges again.
#pragma once

#include <string>
#include <string_view>

#include "launcher/os/system.hpp"
#include "launcher/run/run_dir.hpp"
#include "support/result.hpp"

namespace dllaunch {

/// The folder for a run's copies; empty: none are needed, or none can be kept, which a warning
/// says. `make`: makes it, closed to others, and tries it; without, makes nothing.
std::string kept_folder(System& system, const std::string& run_dir, bool make);

/// Returns the run, or its copies, in the paths of whose files is what may be executed. Without
/// copies, those are made (`make`) of the files in the run's directory, if that and they are this
/// user's alone; without a place for copies, these are executed. bad_request: others can replace
/// the run's directory, and it is not this user's, or has components. unavailable: it cannot be
/// read now.
Result<RunDir> executed_files(System& system, const RunDir& run, bool make = true);

/// The script that `sbatch` has got, if the run was submitted.
std::string submitted_script(System& system, const RunDir& run);

/// Whether a job's script is the run's: in its directory, or in its user's copies,
/// also if its directory was moved.
bool is_script_of(const RunDir& run, std::string_view script);

/// Of a run that needs none, or gets others: old ones must not pass for them. `state`: the user's
/// state folder.
Result<Ok> forget_kept_files(const std::string& state, const std::string& run_dir);

}  // namespace dllaunch
