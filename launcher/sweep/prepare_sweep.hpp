// From a job file with a sweep: block to what a driver needs. Starts nothing.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "launcher/job/job.hpp"
#include "launcher/os/system.hpp"
#include "launcher/plan/plan.hpp"
#include "launcher/sweep/slots.hpp"
#include "launcher/sweep/space.hpp"
#include "launcher/sweep/sweep.hpp"
#include "support/result.hpp"
#include "topology/node/topology.hpp"

namespace dllaunch {

struct SweepRequest {
  std::string job_file = {};
  std::vector<std::string> sets = {};  // KEY.PATH=VALUE
  bool local = false;
  bool allocated = false;  // trials run in the allocation around this process
  std::string dir = {};    // of the sweep; absolute
};

struct PreparedSweep {
  Job job;
  std::vector<Parameter> space = {};
  Sweep sweep = {};              // without trials
  std::int64_t all_epochs = 0;   // of a whole trial; 0: without ASHA
  std::vector<Slot> slots = {};  // one per trial at a time
  Topology node = {};            // this machine, if trials run on it
  int gpus = 0;                  // of a trial
  Budget budget = {};
  std::optional<double> longest_s = {};  // of a trial that Slurm does not end: resources.time
  /// A trial's plan with the time of the job that all trials share; nullopt: they share none.
  std::optional<LaunchPlan> shared = {};
};

/// What a sweep may be continued with: more trials, another budget.
extern const std::vector<std::string> budget_keys;

/// Checks the space, the metric, the budget and a plan with either end of each range. bad_request,
/// unsatisfiable: names the key. bad_request: check_same_sweep().
Result<PreparedSweep> prepare_sweep(System& system, const SweepRequest& request);

}  // namespace dllaunch
