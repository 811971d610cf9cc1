// "Write a checkpoint and stop", asked from outside.
#pragma once

namespace dllaunch {

/// From now on SIGUSR2, SIGTERM and SIGINT only set the flag. A second SIGINT or SIGTERM ends the
/// process as usual: someone is in a hurry.
void catch_stop_signals();

bool stop_was_requested();

}  // namespace dllaunch
