// One host's part of the measurement, started by srun: serves transfers, and makes those it is told
// to make.
#pragma once

#include <string>

#include "launcher/os/system.hpp"

namespace dllaunch {

/// Says where it is reached, then reads calls from standard input and prints a reply for each of
/// its transfers, until the input ends or the task's time is over. Leaves threads behind: the
/// process must end then. bad_request: `task_text` is not a task. unavailable: no port to listen
/// on.
Result<Ok> answer_links(System& system, const std::string& task_text);

}  // namespace dllaunch
