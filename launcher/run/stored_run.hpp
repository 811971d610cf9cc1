// Reads a run directory back as `run` wrote it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "launcher/os/system.hpp"
#include "launcher/plan/run_outline.hpp"
#include "launcher/run/run_dir.hpp"
#include "support/json.hpp"

namespace dllaunch {

struct StoredRun {
  RunDir dir;
  RunOutline plan;
  bool trains = false;
  std::optional<std::int64_t> epochs = {};     // requested
  std::optional<std::int64_t> max_steps = {};  // of the training; absent: no limit
  std::string job_id = {};                     // of the latest Slurm job; empty: none yet
  double began_at_s = 0;  // Unix seconds of submission or local start; 0: never
  Json summary;           // null: the latest execution has no summary
};

/// bad_request: the directory holds no run, or plan.json is invalid.
Result<StoredRun> read_stored_run(System& system, const std::string& path);

/// Returns Unix seconds of the run's submission or local start, by the file system's clock; 0:
/// never.
double began_at_s(const RunDir& dir, Launcher launcher);

/// Tells a submission or local start of a run from its others: its Slurm job, else when it began.
/// Empty: it never began.
std::string submission_name(const RunOutline& plan, const std::string& job_id, const RunDir& dir);

/// Returns seconds from the run's submission or local start until now, by the file system's clock
/// and the local one; infinite if it never began.
double seconds_since_began(const RunDir& dir, Launcher launcher);

/// Returns the status in summary.json; empty: none.
std::string stored_status(const StoredRun& run);

}  // namespace dllaunch
