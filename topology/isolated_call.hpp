// Running a function that may crash or hang, without crashing or hanging.
#pragma once

#include <chrono>
#include <functional>
#include <string>

#include "topology/result.hpp"

namespace dllaunch {

/// Runs `work` in a forked child, its stdout and stderr thrown away, and returns the text it made
/// or the error it returned. Whatever else `work` does to its memory, files or environment is lost.
/// unavailable: no child could be started, or it died; says of which signal.
/// timeout: no answer after `deadline`; the child is killed.
Result<std::string> isolated_call(const std::function<Result<std::string>()>& work,
                                  std::chrono::milliseconds deadline);

}  // namespace dllaunch
