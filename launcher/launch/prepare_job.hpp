// The road from a job file to its plan, as the commands that only look at it take it.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "launcher/os/system.hpp"
#include "launcher/plan/plan.hpp"
#include "launcher/plan/sbatch_overrides.hpp"
#include "launcher/presubmit/before_queue.hpp"

namespace dllaunch {

struct PlanOptions {
  std::string job = {};                // the job file
  std::vector<std::string> sets = {};  // KEY.PATH=VALUE
  std::string facts = {};              // a file of recorded facts; empty: ask this cluster
  bool local = false;
};

/// Facts from a file, and then no other file is looked at; else from this machine, its Slurm, and
/// what was probed of its nodes. Probes that cannot be used are told.
///
/// `cluster` and `partition` are the job's. Named, the cluster is a profile: facts of the cluster
/// that is here where that may be the one (by one of its signs, or because only here is such a
/// partition), else what the profile says. auto: a profile by which the cluster that is here is
/// known. bad_request: no such profile, or it has errors, which are noted.
Result<Facts> find_facts(System& system, const PlanOptions& options,
                         const std::string& cluster = "auto",
                         const std::optional<std::string>& partition = {});

/// Of sbatch's variables those that count: none for a cluster that is not here, nor for no cluster.
SbatchVariables variables_that_count(System& system, const Facts& facts,
                                     const PlanOptions& options);
/// The job as that Slurm would get it: with the overrides in its keys.
Job effective_job(const Job& job, const Facts& facts, const SbatchVariables& variables, bool local);
/// plan() of such a job. It warns of variables that sbatch will not see.
Result<LaunchPlan> plan_effective(const Job& effective, const Facts& facts, const Paths& paths,
                                  const SbatchVariables& variables, bool local);

/// unavailable: the plan is for a cluster that is not here, or that another scheduler runs.
Result<Ok> check_submittable(const Facts& facts, const LaunchPlan& plan);

/// Parses the job, finds the facts, plans. Makes nothing.
Result<LaunchPlan> plan_job(System& system, const PlanOptions& options);

struct CheckedPlan {
  Result<LaunchPlan> plan;  // or why there is none
  QueueReport report = {};  // empty where there is no queue: no Slurm, or --local
};

/// The same, and what speaks against the job before it waits in the queue. With recorded facts
/// these alone are looked at.
Result<CheckedPlan> check_job(System& system, const PlanOptions& options);

}  // namespace dllaunch
