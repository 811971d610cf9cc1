// The end of a run's last job that its dllaunch did not see: a closed terminal, a kill, --detach.
#pragma once

#include "launcher/job/job.hpp"
#include "launcher/os/system.hpp"
#include "launcher/run/run_dir.hpp"

namespace dllaunch {

/// If the run's last job has completed just what `job` asks for, prints the run's status instead of
/// running it again: a command repeated to follow its job must not depend on whether that has just
/// ended. Whether it did.
bool show_unseen_end(System& system, const RunDir& run, const Job& job);

}  // namespace dllaunch
