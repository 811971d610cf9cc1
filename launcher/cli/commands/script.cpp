// Prints the sbatch script; submits nothing.
#include <memory>

#include "launcher/base/shell_quote.hpp"
#include "launcher/cli/command.hpp"
#include "launcher/cli/command_options.hpp"
#include "launcher/job/load_job.hpp"
#include "launcher/launch/prepare_components.hpp"
#include "launcher/launch/prepare_job.hpp"
#include "launcher/plan/program_paths.hpp"
#include "launcher/run/run_dir.hpp"

namespace dllaunch {
namespace {

constexpr std::string_view script_examples =
    R"(  dllaunch script train.yaml > job.sbatch        look at it, edit it, sbatch it
  dllaunch script train.yaml --facts lumi.json   for another cluster
)";

Error no_slurm() {
  return {ErrorKind::unavailable, "this machine has no Slurm, so the cluster is not known",
          "give a recorded cluster with --facts FILE"};
}

/// Submitted by hand, the job starts without a run directory, and Slurm fails silently if the
/// output's folder is missing. The output therefore goes to the directory of the sbatch call.
void keep_output_here(LaunchPlan& plan) {
  const auto there = escape_file_pattern(plan.paths.run_dir) + "/";
  for (auto& [option, value] : plan.sbatch)
    if (option == "--output" && value.starts_with(there)) value.erase(0, there.size());
}

Result<int> print_modular(System& system, const PlanOptions& options, const Job& job) {
  const auto paths = program_paths(new_run_path(job.name));
  if (!paths) return paths.error();
  auto planned = plan_components(system, options, job, *paths, /*check=*/false);
  if (!planned) return std::move(planned).error();
  auto& plan = planned->plan;
  if (plan.whole.launcher != Launcher::slurm) return no_slurm();
  keep_output_here(plan.whole);
  for (auto& component : plan.components) keep_output_here(component.plan);
  for (const auto& warning : plan.whole.warnings) system.log("warning: " + warning + "\n");
  system.print(render_sbatch(plan));
  return exit_code::success;
}

Result<int> print_script(System& system, const PlanOptions& options) {
  if (const auto job = modular_job(system, options.job, options.sets))
    return print_modular(system, options, *job);
  auto made = plan_job(system, options);
  if (!made) return made.error();
  if (made->launcher != Launcher::slurm) return no_slurm();
  if (made->scheduler != "Slurm") return check_submittable({}, *made).error();
  keep_output_here(*made);
  for (const auto& warning : made->warnings) system.log("warning: " + warning + "\n");
  system.print(render_sbatch(*made));
  return exit_code::success;
}

CommandBody declare_script(CommandOptions& app) {
  auto options = std::make_shared<PlanOptions>();
  app.add_option("JOB.yaml", options->job, "the job file")->required();
  app.add_option("--set", options->sets, "change one key of the job file; may be repeated")
      ->type_name("KEY.PATH=VALUE")
      ->allow_extra_args(false);
  app.add_option("--facts", options->facts, "write for the cluster recorded in FILE")
      ->type_name("FILE");
  return [options](System& system) { return print_script(system, *options); };
}

}  // namespace

extern const Command script_command;
const Command script_command{"script", "print the sbatch script", script_examples, declare_script,
                             /*pages=*/true};

}  // namespace dllaunch
