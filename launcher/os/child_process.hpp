// One program, started, listened to and reaped.
#pragma once

#include <chrono>
#include <cstddef>
#include <string>
#include <vector>

#include "launcher/os/system.hpp"

namespace dllaunch {

/// Runs `program` with `argv`, in a process group of its own with standard input from /dev/null,
/// default signal handling and no other descriptor of ours. Returns when it has ended; what it left
/// in the background, even with its output still open, is not waited for.
/// unavailable: it cannot be started. unsatisfiable: more than `most_bytes` of output. timeout:
/// still running after `limit`. In both last cases the whole process group was killed.
Result<CommandOutput> run_child(const std::string& program, const std::vector<std::string>& argv,
                                std::chrono::milliseconds limit, std::size_t most_bytes);

}  // namespace dllaunch
