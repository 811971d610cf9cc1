// Runs one program to its end and captures its output.
#pragma once

#include <chrono>
#include <cstddef>
#include <string>
#include <vector>

#include "launcher/os/system.hpp"

namespace dllaunch {

/// Runs `program` with `argv` in its own process group, with standard input from /dev/null, default
/// signal handling and no inherited descriptors. Returns when the program ends; does not wait for
/// its background processes, even if they keep its output open.
///
/// unavailable: it cannot be started. unsatisfiable: more than `most_bytes` of output. timeout:
/// still running after `limit`. The last two kill the process group.
Result<CommandOutput> run_child(const std::string& program, const std::vector<std::string>& argv,
                                std::chrono::milliseconds limit, std::size_t most_bytes);

}  // namespace dllaunch
