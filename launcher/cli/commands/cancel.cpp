// Ends a run: its ranks are asked to save first, as Ctrl-C does.
#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <thread>
#include <vector>

#include "launcher/base/shell_quote.hpp"
#include "launcher/cli/command.hpp"
#include "launcher/cli/command_options.hpp"
#include "launcher/daemon/client/client.hpp"
#include "launcher/launch/slurm.hpp"
#include "launcher/monitor/find_run.hpp"
#include "launcher/monitor/observe_runs.hpp"
#include "launcher/os/stored_json.hpp"
#include "launcher/postmortem/finalize.hpp"
#include "launcher/postmortem/slurm_outcome.hpp"
#include "launcher/run/job_record.hpp"
#include "launcher/run/run_index.hpp"
#include "support/json.hpp"

namespace dllaunch {
namespace {

constexpr std::string_view cancel_examples =
    R"(  dllaunch cancel resnet50        the newest run of that name: save, then stop
  dllaunch cancel 4711            the run of a Slurm job
  dllaunch cancel 74_3            one task of a job array; the others continue
  dllaunch cancel 4711 --now      without waiting for a checkpoint
)";

struct CancelArguments {
  std::string run;
  bool now = false;
  bool json = false;
};

/// The last words of the command. `run`: its directory, or the task of an array.
void answer(const CancelArguments& options, const std::string& run, std::string_view state,
            const std::string& text, System& system) {
  if (!options.json) return system.print(text);
  const Json document = {{"run", run}, {"state", state}};
  system.print(json_text(document));
}

bool lives(pid_t pid) {
  return kill(pid, 0) == 0 || errno == EPERM;
}

/// Signals the dllaunch that owns the ranks, which asks them to save and ends them, as at Ctrl-C. A
/// second signal skips the save.
Result<int> cancel_local(const CancelArguments& options, const RunState& run_state,
                         System& system) {
  const auto& owner = run_state.owner;
  if (!owner || owner->pid <= 0)
    return Error{ErrorKind::unavailable, "nothing records which process runs it", ""};
  if (owner->host != system.host_name())
    return Error{
        ErrorKind::unavailable,
        fmt::format("the run is on host {}, and this is host {}", owner->host, system.host_name()),
        // Two shells read it.
        fmt::format("ssh {} dllaunch cancel {}", owner->host,
                    shell_quote(shell_quote(run_state.run.dir.path)))};
  if (!holds_lock(run_state.run.dir, owner->pid))
    return Error{ErrorKind::bad_request,
                 fmt::format("process {}, which {}/.lock names, does not run this run: nothing was "
                             "cancelled",
                             owner->pid, run_state.run.dir.path),
                 fmt::format("ps -fp {}", owner->pid)};
  for (int i = 0; i < (options.now ? 2 : 1); ++i) {
    if (i > 0) std::this_thread::sleep_for(std::chrono::milliseconds(300));
    if (kill(owner->pid, SIGTERM) != 0 && errno != ESRCH)
      return Error{ErrorKind::unavailable,
                   fmt::format("cannot signal process {}: {}", owner->pid, std::strerror(errno)),
                   ""};
  }
  system.log(fmt::format("dllaunch: asked process {} to {} the run\n", owner->pid,
                         options.now ? "end" : "save and stop"));
  const auto patience =
      std::chrono::seconds(run_state.run.plan.grace_seconds) + std::chrono::seconds(30);
  const auto deadline = std::chrono::steady_clock::now() + patience;
  while (owner_of(run_state.run.dir) && lives(owner->pid)) {
    if (std::chrono::steady_clock::now() > deadline)
      return Error{
          ErrorKind::timeout,
          fmt::format("process {} has not ended within {} s", owner->pid, patience.count()),
          "dllaunch cancel --now " + shell_quote(run_state.run.dir.path)};
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
  }
  return exit_code::success;
}

/// "74_3" of an array is one task, with a directory of its own.
std::optional<std::string> task_of(const CancelArguments& options, const StoredRun& run) {
  const auto underscore = options.run.find('_');
  if (!run.plan.array || job_of_task(options.run).empty() || underscore == std::string::npos)
    return std::nullopt;
  return options.run.substr(underscore + 1);
}

Result<Outcome> end_job(const CancelArguments& options, const StoredRun& run,
                        const JobIdentity& job, Follower& follower, System& system) {
  const SlurmSettings settings{.at_once = options.now, .cancel = true};
  return attach_slurm(run.plan, run.dir, job, follower, system, settings);
}

FollowSettings settings_for(const StoredRun& run) {
  return {.ranks = run.plan.ranks(),
          .max_steps = run.max_steps,
          .attached_at_s = run.began_at_s,
          .show_past = false};
}

/// Writes no summary: the array's other tasks and their followers continue.
Result<int> cancel_task(const CancelArguments& options, StoredRun run, const std::string& task,
                        System& system) {
  const std::string label = fmt::format("task {} of job {}", task, run.job_id);
  auto job = identity_of(run.plan, run.dir, run.job_id);
  job.id += "_" + task;
  run.dir = task_dir(run.dir, task);
  run.job_id += "_" + task;
  run.plan.array.reset();
  const auto known = finished_jobs(system, job);
  if (known.empty())
    return Error{ErrorKind::bad_request, fmt::format("Slurm has no {}", label),
                 "squeue --me --array"};
  const auto& state = known.front().state;
  if (is_final_state(state)) {
    const auto ended = explain_jobs(run.plan, run.dir, run.job_id, known, RunTotals());
    answer(options, label, to_string(ended.status),
           fmt::format("{} has already ended: {}\n", label, to_string(ended.status)), system);
    return exit_code::success;
  }
  Follower follower(system, run.dir, settings_for(run));
  auto outcome = end_job(options, run, job, follower, system);
  if (!outcome) return std::move(outcome).error();
  const auto status = to_string(outcome->status);
  answer(options, label, status, fmt::format("{} {}\n", label, status), system);
  return exit_code::success;
}

Result<int> cancel_slurm(const CancelArguments& options, const StoredRun& run, System& system) {
  Follower follower(system, run.dir, settings_for(run));
  const auto job = identity_of(run.plan, run.dir, run.job_id);
  auto outcome = end_job(options, run, job, follower, system);
  if (!outcome) return std::move(outcome).error();
  if (!owner_of(run.dir)) {
    const auto summary = final_summary(system, run, *outcome, follower.totals());
    write_end(system, run, to_json(summary));
  }
  return exit_code::success;
}

/// Returns the error for a command line without RUN: names the newest runs that it may mean.
Error which_run(System& system) {
  constexpr std::size_t most = 3;
  std::vector<std::string> names;
  for (const auto& run_state : observe_runs(system, 0)) {
    if (!is_over(run_state))
      names.push_back(std::filesystem::path(run_state.run.dir.path).filename().string());
  }
  if (names.empty())
    return {ErrorKind::bad_request, "RUN is missing, and none of your runs is queued or running",
            "dllaunch ps"};
  const auto newest = std::span(names).first(std::min(most, names.size()));
  return {ErrorKind::bad_request,
          fmt::format("RUN is missing; queued or running: {}{}", fmt::join(newest, ", "),
                      names.size() > most ? fmt::format(" and {} more", names.size() - most) : ""),
          "dllaunch cancel " + shell_quote(names.front())};
}

Result<int> cancel_run(const CancelArguments& options, System& system) {
  if (options.run.empty()) return which_run(system);
  auto path = find_run(system, options.run);
  if (!path) return std::move(path).error();
  if (auto whole = whole_of(*path); !whole.empty()) {
    system.log(fmt::format("dllaunch: a component ends with its job: cancelling {}\n", whole));
    path = std::move(whole);
  }
  auto stored = read_stored_run(system, *path);
  if (!stored) return std::move(stored).error();
  auto run_state = observe_run(system, *std::move(stored));
  if (run_state.state == "unknown")
    return Error{ErrorKind::unavailable, "Slurm does not answer: nothing was cancelled",
                 "try again, or scancel " + run_state.run.job_id};
  if (run_state.state == "elsewhere")
    return check_cluster(system, run_state.run.dir, run_state.run.job_id).error();
  if (run_state.state == "ended") {
    auto final_state = finalize_run(system, run_state.run);
    if (!final_state) return std::move(final_state).error();
  }
  const bool slurm = run_state.run.plan.launcher == Launcher::slurm;
  const bool over = is_over(run_state) || (slurm && run_state.jobs.empty());
  if (slurm && !over)
    if (auto own =
            check_own_job(system, run_state.run.plan, run_state.run.dir, run_state.run.job_id);
        !own)
      return std::move(own).error();
  const auto task = task_of(options, run_state.run);
  // For Slurm the run has ended, but the daemon may be about to resubmit it.
  const bool told = slurm && !task && tell_daemon(system, *path, over ? "cancel" : "leave");
  if (over && told) {
    answer(options, *path, run_state.state,
           fmt::format("told the daemon not to resubmit {}\n", *path), system);
    return exit_code::success;
  }
  if (over) {
    auto text = fmt::format("{} has already ended: {}\n", *path, run_state.state);
    if (run_state.number_taken)
      text += fmt::format("Slurm now uses job id {} for another job, which was not cancelled\n",
                          run_state.run.job_id);
    answer(options, *path, run_state.state, text, system);
    return exit_code::success;
  }
  if (slurm && task) return cancel_task(options, run_state.run, *task, system);
  auto done = slurm ? cancel_slurm(options, run_state.run, system)
                    : cancel_local(options, run_state, system);
  if (!done) return done;
  auto after = read_stored_run(system, *path);
  const auto status = after ? stored_status(*after) : std::string();
  const auto checkpoint = newest_checkpoint(run_state.run.dir);
  const std::string state = status.empty() ? "ended" : status;
  auto text = fmt::format("{} {}\n", *path, state);
  if (!checkpoint.empty())
    text += fmt::format("  checkpoint  {}\n  next        {}\n", checkpoint,
                        next_words(command_to_go_on(system, run_state.run.dir), true, true));
  answer(options, *path, state, text, system);
  return exit_code::success;
}

CommandBody declare_cancel(CommandOptions& app) {
  auto options = std::make_shared<CancelArguments>();
  app.add_option("RUN", options->run,
                 "a run directory, a run's or job's name, a job id; it has no default");
  app.add_flag("--now", options->now, "do not wait for a checkpoint");
  app.add_flag("--json", options->json, "one JSON document");
  return [options](System& system) { return cancel_run(*options, system); };
}

}  // namespace

extern const Command cancel_command;
const Command cancel_command{"cancel", "end a run: save a checkpoint, then stop", cancel_examples,
                             declare_cancel};

}  // namespace dllaunch
