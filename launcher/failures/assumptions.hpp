// What a forecast takes for granted: the costs of a failure, and how much work there is.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "launcher/failures/simulated_run.hpp"
#include "launcher/plan/run_outline.hpp"
#include "support/result.hpp"

namespace dllaunch {

struct Assumptions {
  FailureCosts costs = {};
  std::optional<double> work_s = {};      // training without interruption; nullopt: the time limit
  std::optional<double> interval_s = {};  // between checkpoints; nullopt: the job's, or the best
};

/// "KEY=TIME" each, the last of a key: work, interval, save, detect, node_down, restart, queue. The
/// other costs are `costs`. bad_request: another key, or not a time.
Result<Assumptions> parse_assumptions(const std::vector<std::string>& words,
                                      const FailureCosts& costs = {});

/// "work|interval|save|...", for the help.
std::string assumption_keys();

/// How the run is recovered. `trains`: by the built-in trainer; `train_json`: its configuration,
/// which may say how often it saves.
RecoveryRules rules_of(const RunOutline& plan, bool trains, const std::string& train_json,
                       const Assumptions& assumed);

/// Seconds of the plan's time limit; nullopt: none.
std::optional<double> time_limit_s(const RunOutline& plan);

}  // namespace dllaunch
