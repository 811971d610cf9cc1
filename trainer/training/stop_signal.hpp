// Signals that request a checkpoint and a stop.
#pragma once

#include <string_view>

namespace dllaunch {

/// Makes SIGUSR2 and `another` ("USR1", "HUP") only set a flag: for a start that takes so long that
/// Slurm warns of the time limit meanwhile.
void catch_warnings(std::string_view another);

/// Makes SIGUSR2, SIGTERM, SIGINT and `another` ("USR1", "HUP") only set a flag. A second SIGINT or
/// SIGTERM has its default action, for the impatient.
void catch_stop_signals(std::string_view another = "");

bool stop_was_requested();

}  // namespace dllaunch
