// "Write a checkpoint and stop", asked from outside.
#pragma once

#include <string_view>

namespace dllaunch {

/// From now on SIGUSR2, SIGTERM, SIGINT and `another` ("USR1", "HUP") only set the flag. A second
/// SIGINT or SIGTERM ends the process as usual: someone is in a hurry.
void catch_stop_signals(std::string_view another = "");

bool stop_was_requested();

}  // namespace dllaunch
