// Requeues a job, and retries while Slurm does not answer.
#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "launcher/os/system.hpp"
#include "launcher/slurm/allocation.hpp"

namespace dllaunch {

struct RequeueOptions {
  Exclusion exclude = {};                // from the next start; nothing without `fresh`
  std::vector<std::string> silent = {};  // nodes that did not answer dllaunch
  std::function<std::optional<double>()> seconds_left =
      {};                                              // of the allocation; nullopt: unlimited
  std::function<void(const std::string&)> waits = {};  // why it cannot be done yet; may be empty
  /// Waits this long, or until a stop is requested; returns true on a stop request.
  std::function<bool(std::chrono::milliseconds)> stopped = {};
};

/// Retries for at most ten minutes, and within the allocation, while Slurm does not answer or a
/// node is in doubt. Silent nodes are in doubt for 150 s, because Slurm polls each node only every
/// third of SlurmdTimeout (usually 100 s). Ok: requeued, or no longer possible (Slurm has begun to
/// end the job, or it was cancelled).
Result<Ok> requeue(System& system, const JobAllocation& allocation, const RequeueOptions& how);

}  // namespace dllaunch
