// Runs functions that may crash or hang without taking the caller down.
#pragma once

#include <chrono>
#include <functional>
#include <string>
#include <vector>

#include "support/result.hpp"

namespace dllaunch {

/// Returns the text or the error that `work` returned. It runs in a forked child with stdout and
/// stderr discarded; its changes to memory, files or environment are lost.
/// unavailable: the child could not be started, or it died (the message names the signal). timeout:
/// no answer within `deadline`; the child is killed.
Result<std::string> isolated_call(const std::function<Result<std::string>()>& work,
                                  std::chrono::milliseconds deadline);

struct IsolatedCall {
  std::function<Result<std::string>()> work = {};
  std::chrono::milliseconds deadline{0};  // from the start of all calls
  /// Limits the child's memory, for damaged input. Off for GPU drivers: they reserve terabytes of
  /// addresses.
  bool bounded_memory = true;
};

/// Runs several calls in parallel, each in its own child. Returns the answers in their order. Takes
/// at most the longest deadline, plus one second if a child cannot be killed.
std::vector<Result<std::string>> isolated_calls(const std::vector<IsolatedCall>& calls);

}  // namespace dllaunch
