// Prints the state of one run: progress, what it waits for, how it ended, what to do next.
#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <memory>
#include <optional>
#include <thread>

#include "launcher/base/shell_quote.hpp"
#include "launcher/base/unix_seconds.hpp"
#include "launcher/cli/command.hpp"
#include "launcher/cli/command_options.hpp"
#include "launcher/daemon/client/client.hpp"
#include "launcher/monitor/find_run.hpp"
#include "launcher/monitor/observe_runs.hpp"
#include "launcher/monitor/run_status.hpp"
#include "launcher/os/stored_json.hpp"
#include "launcher/postmortem/finalize.hpp"
#include "launcher/postmortem/slurm_outcome.hpp"
#include "launcher/run/job_record.hpp"
#include "launcher/run/log_line.hpp"
#include "launcher/run/rank_records.hpp"
#include "launcher/slurm/slurm_job.hpp"
#include "launcher/sweep/stored_sweep.hpp"
#include "support/json.hpp"

namespace dllaunch {
namespace {

constexpr std::string_view status_examples =
    R"(  dllaunch status resnet50          the newest run of that name
  dllaunch status 4711              the run of a Slurm job
  dllaunch status resnet50 --watch  again and again, until it ends
  dllaunch status runs/x --json     for programs
)";

struct StatusArguments {
  std::string run;
  bool watch = false;
  bool json = false;
};

/// For a running array: the ended tasks, and how they ended.
void add_ended_tasks(System& system, RunStatusView& status) {
  const auto& run = status.run_state.run;
  if (!run.plan.array || status.run_state.jobs.empty()) return;
  auto ended = finished_jobs(system, identity_of(run.plan, run.dir, run.job_id));
  std::erase_if(ended, [](const SlurmJob& task) { return !is_final_state(task.state); });
  if (ended.empty()) return;
  const auto outcome = explain_jobs(run.plan, run.dir, run.job_id, ended, RunTotals());
  if (outcome.status == RunStatus::completed) {
    status.tasks.push_back(fmt::format("{} completed", ended.size()));
    return;
  }
  status.tasks.push_back(fmt::format("{} over; {}", ended.size(), outcome.reason));
  if (!outcome.first_error.empty()) status.tasks.push_back("first error: " + outcome.first_error);
  status.tasks.insert(status.tasks.end(), outcome.others.begin(), outcome.others.end());
}

/// srun itself says it only after a minute. Ranks that print are not asked about.
void add_waiting_step(System& system, RunStatusView& status) {
  constexpr double quiet_s = 2;
  const auto& run_state = status.run_state;
  const bool quiet = std::ranges::any_of(
      status.logs, [](const LogState& log) { return log.rank >= 0 && log.quiet_s >= quiet_s; });
  if (run_state.state != "running" || run_state.jobs.size() != 1 || run_state.run.trains ||
      !quiet || !ranks_go_on(run_state.run.dir))
    return;
  const auto host = host_that_waits_for_a_step(system, run_state.run.job_id);
  const bool told = std::ranges::any_of(
      status.ranks, [](const auto& words) { return words.ends_with(overlap_words); });
  if (!host.empty() && !told)
    status.ranks.push_back(fmt::format("srun on {} {}", host, overlap_words));
}

Result<RunStatusView> look(const std::string& path, System& system) {
  auto run_state = observe_end(system, path);
  if (!run_state) return std::move(run_state).error();
  auto status = status_of(*std::move(run_state), unix_seconds());
  status.next = command_to_go_on(system, status.run_state.run.dir);
  add_ended_tasks(system, status);
  add_waiting_step(system, status);
  status.components = component_states(system, status.run_state, unix_seconds());
  return status;
}

/// On a terminal the text stays in one place; elsewhere, and on a dumb one, it is repeated.
Result<int> watch(const std::string& path, System& system) {
  const bool in_place =
      system.console().terminal_out && system.environment("TERM").value_or("") != "dumb";
  for (bool first = true;; first = false) {
    auto status = look(path, system);
    if (!status) return std::move(status).error();
    if (in_place) std::fputs(first ? "\033[H\033[2J" : "\033[H\033[J", stdout);
    system.print((first || in_place ? "" : "\n") + render_status(*status));
    std::fflush(stdout);
    if (is_over(status->run_state)) return exit_code::success;
    const bool local = status->run_state.run.plan.launcher == Launcher::local;
    // Thousands of users may watch: Slurm's controller is asked rarely.
    std::this_thread::sleep_for(std::chrono::seconds(local ? 1 : 10));
  }
}

/// Where no dllaunch carries out a sweep, what has become of its trials is read from their runs.
void add_unseen(System& system, const std::string& dir, Sweep& sweep) {
  for (Trial& trial : sweep.trials) {
    if (trial.state != TrialState::running) continue;
    const auto run = observe_end(system, dir + "/" + trial.run);
    trial.reason = run ? fmt::format("its run: {}", run->state) : "it has not started";
  }
}

/// Of a sweep's directory; nullopt: it is none.
Result<std::optional<int>> show_sweep(const StatusArguments& options, System& system) {
  auto sweep = stored_sweep(system, options.run);
  if (!sweep) return sweep.error();
  if (!*sweep) return std::optional<int>();
  const auto whole = observe_end(system, options.run + "/allocation");
  const bool carried_out =
      owner_of({.path = options.run}).has_value() || (whole && !is_over(*whole));
  if (!carried_out) add_unseen(system, options.run, **sweep);
  if (options.json) {
    system.print(json_text(to_json(**sweep)));
  } else {
    system.print(render_sweep(**sweep));
    if (!carried_out && is_unfinished(**sweep))
      system.print(fmt::format(
          "no dllaunch carries it out: the same command with --run-dir {} continues it\n",
          shell_quote(options.run)));
  }
  return std::optional(exit_code::success);
}

Result<int> show_status(const StatusArguments& options, System& system) {
  if (!options.run.empty()) {
    const auto shown = show_sweep(options, system);
    if (!shown) return shown.error();
    if (*shown) return **shown;
  }
  auto path = find_run_to_read(system, options.run);
  if (!path) return std::move(path).error();
  if (options.watch) return watch(*path, system);
  auto status = look(*path, system);
  if (!status) return std::move(status).error();
  status->daemon = daemons_word(system, status->run_state.run.dir.path);
  if (options.json) {
    system.print(json_text(to_json(*status)));
    return exit_code::success;
  }
  system.print(render_status(*status));
  return exit_code::success;
}

CommandBody declare_status(CommandOptions& app) {
  auto options = std::make_shared<StatusArguments>();
  app.add_option("RUN", options->run,
                 "a run's or a sweep's directory, a name, a job id [the newest run]");
  auto* json = app.add_flag("--json", options->json, "one JSON document");
  app.add_flag("-w,--watch", options->watch, "refresh until the run ends")->excludes(json);
  return [options](System& system) { return show_status(*options, system); };
}

}  // namespace

extern const Command status_command;
const Command status_command{"status", "one run: state, progress, logs, how it ended",
                             status_examples, declare_status};

}  // namespace dllaunch
