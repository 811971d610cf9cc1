// Tries values of a job's parameters.
#include <fmt/format.h>

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "launcher/base/shell_quote.hpp"
#include "launcher/cli/command.hpp"
#include "launcher/cli/command_options.hpp"
#include "launcher/cli/commands/job_options.hpp"
#include "launcher/job/load_job.hpp"
#include "launcher/os/stored_json.hpp"
#include "launcher/run/run_dir.hpp"
#include "launcher/run/submit_folder.hpp"
#include "launcher/sweep/run_sweep.hpp"
#include "launcher/sweep/sweep_in_one_job.hpp"
#include "support/counted.hpp"

namespace dllaunch {
namespace {

constexpr std::string_view sweep_examples =
    R"(  dllaunch sweep train.yaml                          what sweep: in the job file says
  dllaunch sweep train.yaml --set sweep.trials=64    with one key changed
  dllaunch sweep train.yaml --run-dir runs/a         continue a sweep, or one with more trials
  dllaunch status runs/a                             its trials, the best first
)";

struct SweepArguments {
  std::string job;
  std::vector<std::string> sets;
  bool local = false;
  bool allocated = false;
  std::string dir;
  bool json = false;
};

Result<int> sweep(const SweepArguments& options, System& system) {
  SweepRequest request{.job_file = options.job,
                       .sets = options.sets,
                       .local = options.local,
                       .allocated = options.allocated};
  if (options.dir.empty()) {
    const auto job = load_job(system, options.job, options.sets);
    if (!job) return job.error();
    request.dir = new_run_path(job->name + "-sweep");
  } else {
    request.dir = std::filesystem::absolute(options.dir).lexically_normal().string();
    auto entered = enter_submit_folder(system, request.dir, request.job_file);
    if (!entered) return std::move(entered).error();
  }
  auto prepared = prepare_sweep(system, request);
  if (!prepared) return std::move(prepared).error();
  const auto where = prepared->shared
                         ? fmt::format("in one job of {}", counted(prepared->shared->nodes, "node"))
                         : fmt::format("{} at a time", prepared->slots.size());
  system.log(fmt::format("{}: {}, {}, {}\n", prepared->sweep.name,
                         counted(prepared->sweep.most_trials, "trial"), where, request.dir));
  const auto stopped = prepared->shared ? run_sweep_in_one_job(system, request, *prepared)
                                        : run_sweep(system, request, *prepared);
  if (!stopped) return stopped.error();
  if (options.json) {
    system.print(json_text(to_json(prepared->sweep)));
  } else {
    system.print(render_sweep(prepared->sweep));
    if (std::filesystem::exists(request.dir + "/sweep.html"))
      system.print(
          fmt::format("  page    {0}/sweep.html\n  Optuna  {0}/optuna.journal\n", request.dir));
  }
  if (*stopped != 0) {
    system.log(fmt::format("dllaunch: stopped; the same command with --run-dir {} continues\n",
                           shell_quote(request.dir)));
    return 128 + *stopped;
  }
  return best_of(prepared->sweep) != nullptr ? exit_code::success : exit_code::job_failed;
}

CommandBody declare_sweep(CommandOptions& app) {
  auto options = std::make_shared<SweepArguments>();
  add_job_options(app, options->job, options->sets, "the job file, with a block sweep:");
  auto* local = app.add_flag("--local", options->local, "on this machine, even if it has Slurm");
  app.add_flag("--allocated", options->allocated,
               "in the Slurm allocation around this command, without new jobs")
      ->excludes(local);
  app.add_option("--run-dir", options->dir, "directory of the sweep; an unfinished one continues")
      ->type_name("DIR");
  app.add_flag("--json", options->json, "one JSON document");
  return [options](System& system) { return sweep(*options, system); };
}

}  // namespace

extern const Command sweep_command;
const Command sweep_command{"sweep", "try values of a job's parameters", sweep_examples,
                            declare_sweep};

}  // namespace dllaunch
