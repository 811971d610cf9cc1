// From a modular job file to the plans of its components, as prepare_job.hpp for an ordinary job.
#pragma once

#include <string>
#include <vector>

#include "launcher/components/machine_shares.hpp"
#include "launcher/launch/prepare_job.hpp"
#include "launcher/plan/modular_plan.hpp"

namespace dllaunch {

struct PlannedComponents {
  Job job;  // with GPUs divided over nodes
  ModularPlan plan;
  QueueReport report = {};              // of all components; empty unless checked
  SharedMachine machine = {};           // without Slurm
  std::optional<Error> elsewhere = {};  // why this machine cannot submit it
  std::string why_no_slurm = {};        // empty with Slurm
};

/// `paths`: of the whole. `check`: with everything that speaks against submitting it. Errors name
/// the component.
Result<PlannedComponents> plan_components(System& system, const PlanOptions& options,
                                          const Job& job, const Paths& paths, bool check);

}  // namespace dllaunch
