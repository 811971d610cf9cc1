// Native stacks of another process's threads, by elfutils' libdwfl.
// A thread stands still only while it is copied (thread_snapshot.hpp); it is unwound from the copy.
#pragma once

#include <chrono>
#include <vector>

#include "launcher/autopsy/stacks.hpp"

namespace dllaunch {

/// Fills in `frames`, at most 128 each, or `why_not`, of the threads. Stops at the deadline. May
/// hang or crash with the files of a hostile process: call it in an isolated_call().
void read_native_stacks(int pid, std::vector<ThreadStack>& threads,
                        std::chrono::steady_clock::time_point deadline);

}  // namespace dllaunch
