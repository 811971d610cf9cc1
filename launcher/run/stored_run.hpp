// A run directory read back: what `run` wrote into it, for whoever comes later.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "launcher/os/system.hpp"
#include "launcher/plan/plan.hpp"
#include "launcher/run/run_dir.hpp"
#include "support/json.hpp"

namespace dllaunch {

struct StoredRun {
  RunDir dir;
  LaunchPlan plan;  // plan_from_json()
  bool trains = false;
  std::optional<std::int64_t> epochs = {};  // asked for
  std::string job_id = {};                  // of the last Slurm job; empty: none yet
  double began_at_s = 0;                    // Unix seconds: submitted, or started here; 0: never
  Json summary;                             // null: none was written for what ran last
};

/// bad_request: the directory holds no run, or a plan.json that makes no sense.
Result<StoredRun> read_stored_run(System& system, const std::string& path);

/// Seconds from the run's submission, or its start here, until now, by the file system's clock and
/// ours; infinite where it never began.
double seconds_since_began(const RunDir& dir, Launcher launcher);

/// What `run` would say of it: the run's status in summary.json; empty: not there.
std::string stored_status(const StoredRun& run);

}  // namespace dllaunch
