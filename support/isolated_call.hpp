// Running a function that may crash or hang, without crashing or hanging.
#pragma once

#include <chrono>
#include <functional>
#include <string>
#include <vector>

#include "support/result.hpp"

namespace dllaunch {

/// Runs `work` in a forked child, its stdout and stderr thrown away, and returns the text it made
/// or the error it returned. Whatever else `work` does to its memory, files or environment is lost.
/// unavailable: no child could be started, or it died; says of which signal.
/// timeout: no answer after `deadline`; the child is killed.
Result<std::string> isolated_call(const std::function<Result<std::string>()>& work,
                                  std::chrono::milliseconds deadline);

struct IsolatedCall {
  std::function<Result<std::string>()> work = {};
  std::chrono::milliseconds deadline{0};  // from the start of all
  /// What damaged input must not take from the node. GPU drivers reserve terabytes of addresses.
  bool bounded_memory = true;
};

/// The same of several at once, side by side, each in a child of its own: the answers in their
/// order. Costs the longest deadline and, where a child cannot be killed, one second more.
std::vector<Result<std::string>> isolated_calls(const std::vector<IsolatedCall>& calls);

}  // namespace dllaunch
