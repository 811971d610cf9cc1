// What accounting knows of the memory and energy of a job.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "launcher/os/system.hpp"

namespace dllaunch {

struct JobUsage {
  /// The most that one task of a step had resident, as far as Slurm sampled it (every
  /// JobAcctGatherFrequency, 30 s): not of the batch script.
  std::optional<std::int64_t> peak_task_bytes = {};
  std::optional<double> joules = {};  // of its nodes while it ran; a requeued job's runs together
};

/// `sacct --parsable2 --format=JobID,MaxRSS,ConsumedEnergyRaw`, with steps and duplicates. 0 means
/// that nothing measures it.
JobUsage parse_job_usage(std::string_view text);

/// Unknown without accounting, or if it does not answer.
JobUsage usage_of_job(System& system, const std::string& id);

}  // namespace dllaunch
