// Starts ranks on this machine without MPI, and ends them together.
#pragma once

#include <string>
#include <vector>

#include "launcher/os/system.hpp"

namespace dllaunch {

/// Returns the exit code of the rank that failed first, 128 + n if signal n killed it; 0 if all
/// ranks ended well. Starts `ranks` processes of `argv`, each with RANK, LOCAL_RANK, WORLD_SIZE,
/// LOCAL_WORLD_SIZE and DLLAUNCH_SPAWN, in a process group of its own. When one fails, names it on
/// standard error and ends the others; SIGTERM, SIGINT and SIGHUP end all.
/// unavailable: argv[0] cannot be started.
Result<int> spawn_ranks(int ranks, const std::vector<std::string>& argv, System& system);

}  // namespace dllaunch
