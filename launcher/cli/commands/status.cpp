// One run: what it does, how far it is, what it waits for, how it ended, what to type next.
#include <fmt/format.h>

#include <CLI/App.hpp>
#include <chrono>
#include <memory>
#include <nlohmann/json.hpp>

#include "launcher/cli/command.hpp"
#include "launcher/daemon/client.hpp"
#include "launcher/monitor/find_run.hpp"
#include "launcher/monitor/observe_runs.hpp"
#include "launcher/monitor/run_status.hpp"
#include "launcher/postmortem/finalize.hpp"
#include "launcher/postmortem/slurm_outcome.hpp"
#include "launcher/slurm/slurm_job.hpp"

namespace dllaunch {
namespace {

constexpr std::string_view examples =
    R"(  dllaunch status resnet50          the newest run of that name
  dllaunch status 4711              the run of a Slurm job
  dllaunch status runs/x --json     for programs
)";

struct Options {
  std::string run;
  bool json = false;
};

double unix_seconds() {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return std::chrono::duration<double>(now).count();
}

/// Of an array that goes on: what of it is over, and how.
void add_ended_tasks(World& world, RunStatusView& status) {
  const auto& run = status.view.run;
  if (!run.plan.array || status.view.jobs.empty()) return;
  auto ended = finished_jobs(world, identity_of(run.plan, run.dir, run.job_id));
  std::erase_if(ended, [](const SlurmJob& task) { return !is_final_state(task.state); });
  if (ended.empty()) return;
  const auto outcome = explain_jobs(run.plan, run.dir, run.job_id, ended, RunLedger());
  if (outcome.status == RunStatus::completed) {
    status.tasks.push_back(fmt::format("{} completed", ended.size()));
    return;
  }
  status.tasks.push_back(fmt::format("{} over; {}", ended.size(), outcome.reason));
  if (!outcome.first_error.empty()) status.tasks.push_back("first error: " + outcome.first_error);
  status.tasks.insert(status.tasks.end(), outcome.others.begin(), outcome.others.end());
}

/// A run that ended while nobody looked gets its summary now.
Result<RunStatusView> look(const std::string& path, World& world) {
  auto stored = read_stored_run(world, path);
  if (!stored) return std::move(stored).error();
  auto view = observe_run(world, *std::move(stored));
  if (view.state == "ended") {
    auto settled = settle_run(world, view.run);
    if (!settled) return std::move(settled).error();
    if (*settled) view.run.summary = std::move((*settled)->summary);
    if (!view.run.summary.is_null()) view.state = stored_status(view.run);
  }
  auto status = status_of(std::move(view), unix_seconds());
  add_ended_tasks(world, status);
  return status;
}

Result<int> show_status(const Options& options, World& world) {
  auto path = find_run(world, options.run);
  if (!path) return std::move(path).error();
  auto status = look(*path, world);
  if (!status) return std::move(status).error();
  status->daemon = daemons_word(world, status->view.run.dir.path);
  if (options.json) {
    world.print(to_json(*status).dump(2, ' ', /*ensure_ascii=*/false,
                                      nlohmann::ordered_json::error_handler_t::replace) +
                "\n");
    return exit_code::success;
  }
  world.print(render_status(*status));
  return exit_code::success;
}

VerbBody declare(CLI::App& app) {
  auto options = std::make_shared<Options>();
  app.add_option("RUN", options->run, "a run directory, a run's or job's name, a job id")
      ->required();
  app.add_flag("--json", options->json, "one JSON document");
  return [options](World& world) { return show_status(*options, world); };
}

}  // namespace

extern const Verb status_verb;
const Verb status_verb{"status", "one run: state, progress, logs, how it ended", examples, declare};

}  // namespace dllaunch
