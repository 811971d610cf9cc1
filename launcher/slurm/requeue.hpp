// A job that goes back into the queue, however long Slurm takes to hear it.
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
  std::string exclude = {};              // nodes that it is not to start on again, a host list
  std::vector<std::string> silent = {};  // that did not answer us
  std::function<std::optional<double>()> seconds_left = {};  // of the allocation; nothing: no end
  /// Waits so long, or until somebody wants it to stop: true.
  std::function<bool(std::chrono::milliseconds)> stopped = {};
};

/// Asked again, ten minutes at most and while something is left of the allocation, as long as Slurm
/// does not answer or a node is in doubt. Of silent nodes Slurm need not know yet: it asks each
/// every third of SlurmdTimeout (100 s mostly), so they are in doubt for 150 s. Ok: done, or out of
/// our hands (Slurm has begun to end the job, somebody has cancelled it).
Result<Ok> requeue(System& system, const JobAllocation& allocation, const RequeueOptions& how);

}  // namespace dllaunch
