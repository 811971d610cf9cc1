// What the end of a trial's run means for the trial.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "launcher/job/job.hpp"
#include "launcher/os/system.hpp"
#include "launcher/run/stored_run.hpp"
#include "launcher/sweep/sweep.hpp"

namespace dllaunch {

/// One start of a trial.
struct Execution {
  std::int64_t epochs_before = 0;
  bool overdue = false;          // its driver stopped it, by resources.time
  bool stopping = false;         // its driver stops
  std::optional<int> code = {};  // of its dllaunch; nullopt: an earlier driver's, which was killed
};

/// The run in `dir`, without a summary that has been judged. If there is none, an empty one.
/// unavailable: the file system does not give it.
Result<StoredRun> unjudged_run(System& system, const std::string& dir, const Trial& trial);

/// Takes over what the run trained, and how it ended. What a driver cancelled that stops, or that
/// was killed, has not failed: the trial stays running, and starts again. unavailable: the file
/// system does not give what the run left; what it refuses for good fails the trial.
Result<Ok> judge(const Sweep& sweep, const Job& job, const StoredRun& run,
                 const Execution& execution, Trial& trial);

}  // namespace dllaunch
