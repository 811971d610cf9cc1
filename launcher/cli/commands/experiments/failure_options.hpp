// --failures and --assume, for every command that forecasts what failing nodes cost.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "launcher/cli/command_options.hpp"
#include "launcher/failures/failure_forecast.hpp"
#include "launcher/os/system.hpp"
#include "launcher/plan/run_outline.hpp"

namespace dllaunch {

struct FailureQuestion {
  std::string source = {};  // of the rates; empty: nothing is asked
  std::vector<std::string> assumed = {};

  bool asked() const { return !source.empty(); }
};

void add_failure_options(CommandOptions& app, FailureQuestion& question);

/// What a forecast needs to know of a job, which is planned or has run.
struct ForecastJob {
  const RunOutline& plan;
  bool trains = false;
  std::string train_json = {};        // what the built-in trainer gets
  std::optional<double> work_s = {};  // if `work` is not assumed; nullopt: the time limit
  FailureCosts costs = {};            // if they are not assumed
  std::string without_slurm = {};     // what to do if the job does not run on Slurm
};

/// unsatisfiable: it does not run through Slurm, its time limit leaves no training, or too much is
/// to be simulated. bad_request: the rates or an assumption, or nothing says how much there is to
/// do.
Result<FailureForecast> forecast_of(System& system, const FailureQuestion& question,
                                    const ForecastJob& job);

}  // namespace dllaunch
