// Prints the sbatch script; submits nothing.
#include <memory>

#include "launcher/base/shell_quote.hpp"
#include "launcher/cli/command.hpp"
#include "launcher/cli/command_options.hpp"
#include "launcher/cli/commands/job_options.hpp"
#include "launcher/job/load_job.hpp"
#include "launcher/launch/prepare_components.hpp"
#include "launcher/launch/prepare_job.hpp"
#include "launcher/plan/program_paths.hpp"
#include "launcher/plan/script/plain_script.hpp"
#include "launcher/run/run_dir.hpp"

namespace dllaunch {
namespace {

constexpr std::string_view script_examples =
    R"(  dllaunch script train.yaml > job.sbatch        look at it, edit it, sbatch it
  dllaunch script train.yaml --cluster lumi-g    for another cluster
  dllaunch script train.yaml --plain             one that needs no dllaunch
)";

struct ScriptArguments {
  PlanOptions plan;
  bool plain = false;
};

Error no_slurm() {
  return {ErrorKind::unavailable, "this machine has no Slurm, so the cluster is not known",
          "name one with --cluster NAME, or give a recorded one with --facts FILE"};
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

Result<int> print_plain(System& system, const LaunchPlan& plan) {
  const auto plain = plain_script(plan);
  if (!plain) return plain.error();
  system.print(render_plain(plan, *plain));
  return exit_code::success;
}

Result<int> print_script(System& system, const ScriptArguments& arguments) {
  const auto& options = arguments.plan;
  if (const auto job = modular_job(system, options.job, options.sets)) {
    if (!arguments.plain) return print_modular(system, options, *job);
    return Error{ErrorKind::bad_request, "components: their common end needs dllaunch on the nodes",
                 "use script without --plain, or write one of them as a job file of its own"};
  }
  auto made = plan_job(system, options);
  if (!made) return made.error();
  if (made->launcher != Launcher::slurm) return no_slurm();
  if (made->scheduler != "Slurm") return check_submittable({}, *made).error();
  keep_output_here(*made);
  for (const auto& warning : made->warnings) system.log("warning: " + warning + "\n");
  if (arguments.plain) return print_plain(system, *made);
  system.print(render_sbatch(*made));
  return exit_code::success;
}

CommandBody declare_script(CommandOptions& app) {
  auto options = std::make_shared<ScriptArguments>();
  add_job_options(app, options->plan.job, options->plan.sets);
  app.add_option("--facts", options->plan.facts, "write for the cluster recorded in FILE")
      ->type_name("FILE");
  app.add_flag("--plain", options->plain,
               "a script that needs no dllaunch on the cluster, to read and to keep");
  return [options](System& system) { return print_script(system, *options); };
}

}  // namespace

extern const Command script_command;
const Command script_command{"script", "print the sbatch script", script_examples, declare_script,
                             /*pages=*/true};

}  // namespace dllaunch
