// What start estimates were worth: RUN/estimate.json, against when the run's ranks really started.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "launcher/os/system.hpp"
#include "launcher/run/run_dir.hpp"
#include "support/json.hpp"

namespace dllaunch {

/// What was estimated when a run was submitted; all in Unix seconds.
struct StartRecord {
  double made_s = 0;
  double start_s = 0;
  double finish_s = 0;
  std::optional<double> slurm_s = {};  // of sbatch --test-only alone
  bool by_backfill = false;
  std::string shape = {};
};

Json to_json(const StartRecord& record);
StartRecord start_record_from(const Json& document);

/// Stores it in the run's directory. unavailable: the file system refuses; the run needs it not.
Result<Ok> keep_estimate(const RunDir& run, const StartRecord& record);

/// A run's estimate, and when it started.
struct PastEstimate {
  double made_s = 0;
  double estimated_s = 0;
  double started_s = 0;
};

/// Of the runs known here that have started, the newest 200.
std::vector<PastEstimate> past_estimates(System& system);

/// How far off the estimates were.
struct EstimatesWorth {
  int runs = 0;
  int earlier = 0;  // started before the estimated moment, by more than a minute
  int later = 0;
  double median_off_s = 0;  // of the absolute differences
  double worst_off_s = 0;
};
EstimatesWorth worth_of(const std::vector<PastEstimate>& past);

/// A sentence: "start estimates here were off by a median of 12 min over 14 runs; 9 started earlier
/// than estimated, 3 later".
std::string words_of(const EstimatesWorth& worth);

}  // namespace dllaunch
