// The plans of a modular job's components, as one: one heterogeneous Slurm job, or side by side on
// this machine. Pure.
#pragma once

#include <string>
#include <vector>

#include "launcher/plan/plan.hpp"

namespace dllaunch {

struct ComponentPlan {
  std::string name;
  bool ends_job = false;
  LaunchPlan plan;  // of an ordinary job; its run directory is RUN/components/NAME
};

struct ModularPlan {
  LaunchPlan whole;  // what is needed to submit, follow and list the job; without placement
  std::vector<ComponentPlan> components = {};
};

/// Joins plans, one for each component of `job`, made for component_dir(paths.run_dir, NAME).
/// bad_request: a component has `stage` or spare nodes, which a heterogeneous job cannot have.
/// unavailable: srun cannot start its ranks; other clusters' schedulers.
Result<ModularPlan> join_plans(const Job& job, const Paths& paths, std::vector<LaunchPlan> plans);

/// {"name": ..., "components": [...], ...}, of each component the document of its own plan too.
Json to_json(const ModularPlan& plan);
std::string render_plan(const ModularPlan& plan);

/// The #SBATCH lines of one component: `first` has the script, its output, and the signal that
/// announces the time limit.
std::vector<std::string> sbatch_arguments(const ModularPlan& plan, std::size_t component);

/// The sbatch script, from templates/components.sbatch.mustache: it holds the components' scripts.
std::string render_sbatch(const ModularPlan& plan, const std::string& run_id = "");

/// The script of one component, which `dllaunch supervise --components` starts; of a plan for this
/// machine there is none.
std::string render_component(const ModularPlan& plan, std::size_t component,
                             const std::string& run_id = "");

}  // namespace dllaunch
