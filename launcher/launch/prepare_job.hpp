// From a job file to its plan: parse, find facts, apply overrides, plan, check.
// It creates no run directory and submits nothing.
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
  std::string facts = {};              // recorded facts; empty: query this cluster
  bool local = false;
  bool allocated = false;  // in an allocation that is there
};

/// Returns facts from a file alone, or from this machine with the GPUs that this process may use,
/// its Slurm and probed nodes; unusable probes are logged. `cluster`, `partition`: the job's. A
/// named cluster is a profile: facts of the local cluster if it may be that one (by one of its
/// signs, or because only it has the partition), otherwise the profile's. auto: the profile that
/// recognises the local cluster. bad_request: no such profile, or it has errors, which are noted.
Result<Facts> find_facts(System& system, const PlanOptions& options,
                         const std::string& cluster = "auto",
                         const std::optional<std::string>& partition = {});

/// Returns the sbatch variables that apply: none for another cluster or none at all.
SbatchVariables variables_that_count(System& system, const Facts& facts,
                                     const PlanOptions& options);
/// Returns the job as Slurm would get it, with overrides in its keys.
Job effective_job(const Job& job, const Facts& facts, const SbatchVariables& variables, bool local);
/// Plans such a job. Warns of variables that sbatch will not see.
Result<LaunchPlan> plan_effective(const Job& effective, const Facts& facts, const Paths& paths,
                                  const SbatchVariables& variables, bool local);

/// The same without the nodes that recovery.avoid speaks of, for a job that Slurm here will queue;
/// `effective` then excludes them. A job that has no plan without them is planned with them. The
/// plan's warnings say what was avoided.
Result<LaunchPlan> plan_avoiding(System& system, const PlanOptions& options, Job& effective,
                                 const Facts& facts, const Paths& paths,
                                 const SbatchVariables& variables);

/// unavailable: the plan is for another cluster, or for one with another scheduler.
Result<Ok> check_submittable(const Facts& facts, const LaunchPlan& plan);

struct PlannedJob {
  Job job;        // with GPUs divided over nodes
  Job effective;  // as Slurm would get it
  Facts facts;
  Result<LaunchPlan> plan;  // the plan, or why there is none
};

/// Plans a job that is loaded, for facts that are found.
Result<PlannedJob> plan_loaded(System& system, const PlanOptions& options, const Job& job,
                               const Paths& paths, Facts facts);

/// Parses the job, finds facts, plans. Creates nothing.
Result<LaunchPlan> plan_job(System& system, const PlanOptions& options);

struct CheckedPlan {
  Result<LaunchPlan> plan;              // the plan, or why there is none
  QueueReport report = {};              // empty without a queue: no Slurm, or --local
  std::optional<Error> elsewhere = {};  // why this machine cannot submit it
};

/// With everything that speaks against submitting a planned job.
CheckedPlan check_planned(System& system, const PlanOptions& options, const PlannedJob& planned,
                          const Paths& paths);
/// The same from the file. Recorded facts are used alone.
Result<CheckedPlan> check_job(System& system, const PlanOptions& options);

/// The plan, or the first thing that speaks against submitting it from here.
Result<LaunchPlan> submittable_plan(System& system, const PlanOptions& options);

}  // namespace dllaunch
