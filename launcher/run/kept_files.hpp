// The files that decide what a run executes: job.yaml, plan.json, job.sbatch, components/ and
// autopsy/python. Where another user can put a directory in the place of the run's, or write in it,
// they are taken from copies in the user's state folder, which `dllaunch run` makes:
// $XDG_STATE_HOME/dllaunch/kept/.
#pragma once

#include <optional>
#include <string>

#include "launcher/os/system.hpp"
#include "launcher/run/run_dir.hpp"
#include "support/result.hpp"

namespace dllaunch {

/// Returns the run, or its copies, in the paths of whose files is what may be executed.
/// bad_request: others can replace the run's directory, and there are no copies.
Result<RunDir> executed_files(System& system, const RunDir& run);

/// The script that `sbatch` gets: of these files. Without them, as of a user who has no home, that
/// of the run's directory.
std::string script_to_submit(System& system, const RunDir& run);

/// Returns the folder for copies of what is written into the run's directory; nullopt: none are
/// needed, or a warning says why there are none.
std::optional<RunDir> make_kept_files(System& system, const RunDir& run);

/// Of a run that is no longer known. `state`: the user's state folder.
void forget_kept_files(const std::string& state, const std::string& name);

}  // namespace dllaunch
