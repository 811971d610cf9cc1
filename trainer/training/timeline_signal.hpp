// "Start or stop the timeline", asked from outside.
#pragma once

#include <atomic>

namespace dllaunch {

/// From now on each SIGUSR1 adds one to what this returns.
const std::atomic<unsigned>& catch_timeline_signal();

}  // namespace dllaunch
