// The signal that starts and stops the timeline.
#pragma once

#include <atomic>

namespace dllaunch {

/// Handles SIGUSR1. Returns the number of signals so far.
const std::atomic<unsigned>& catch_timeline_signal();

}  // namespace dllaunch
