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
/// says. Makes nothing.
std::string kept_folder(System& system, const std::string& run_dir);

/// Makes it, closed to others.
Result<Ok> make_kept_folder(const std::string& folder);

/// Returns the run, or its copies, in the paths of whose files is what may be executed. Without
/// copies, those are made of the files in the run's directory, if that and they are this user's
/// alone; without a place for copies, these are executed. bad_request: others can replace the run's
/// directory, and it is not this user's.
Result<RunDir> executed_files(System& system, const RunDir& run);

/// The script that `sbatch` gets: of these files. Without them, as of a user who has no home, that
/// of the run's directory.
std::string script_to_submit(System& system, const RunDir& run);

/// Whether a job's script is the run's: in its directory, or in its user's copies.
bool is_script_of(const RunDir& run, std::string_view script);

/// Of a run that needs none, or is no longer known. `state`: the user's state folder.
void forget_kept_files(const std::string& state, const std::string& run_dir);

}  // namespace dllaunch
