// Ends a run: its ranks are asked to save first, as Ctrl-C does.
#include <fmt/format.h>

#include <CLI/App.hpp>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <thread>

#include "launcher/cli/command.hpp"
#include "launcher/daemon/client.hpp"
#include "launcher/launch/slurm.hpp"
#include "launcher/monitor/find_run.hpp"
#include "launcher/monitor/observe_runs.hpp"
#include "launcher/postmortem/finalize.hpp"
#include "launcher/postmortem/slurm_outcome.hpp"

namespace dllaunch {
namespace {

constexpr std::string_view examples =
    R"(  dllaunch cancel resnet50        the newest run of that name: save, then stop
  dllaunch cancel 4711            the run of a Slurm job
  dllaunch cancel 74_3            one task of a job array; the others go on
  dllaunch cancel 4711 --now      without waiting for a checkpoint
)";

struct Options {
  std::string run;
  bool now = false;
};

bool lives(pid_t pid) {
  return kill(pid, 0) == 0 || errno == EPERM;
}

/// The dllaunch that owns the ranks asks them to save and ends them, as at Ctrl-C; a second signal
/// hurries it.
Result<int> cancel_local(const Options& options, const RunView& view, World& world) {
  const auto& owner = view.owner;
  if (!owner || owner->pid <= 0)
    return Error{ErrorKind::unavailable, "nobody knows which process owns the run", ""};
  if (owner->host != world.host_name())
    return Error{ErrorKind::unavailable,
                 fmt::format("the run is on {}, this is {}", owner->host, world.host_name()),
                 fmt::format("ssh {} dllaunch cancel {}", owner->host, view.run.dir.path)};
  for (int i = 0; i < (options.now ? 2 : 1); ++i) {
    if (i > 0) std::this_thread::sleep_for(std::chrono::milliseconds(300));
    if (kill(owner->pid, SIGTERM) != 0 && errno != ESRCH)
      return Error{ErrorKind::unavailable,
                   fmt::format("cannot signal process {}: {}", owner->pid, std::strerror(errno)),
                   ""};
  }
  world.note(fmt::format("dllaunch: asked process {} to {} the run\n", owner->pid,
                         options.now ? "end" : "save and stop"));
  const auto patience =
      std::chrono::seconds(view.run.plan.grace_seconds) + std::chrono::seconds(30);
  const auto deadline = std::chrono::steady_clock::now() + patience;
  while (owner_of(view.run.dir) && lives(owner->pid)) {
    if (std::chrono::steady_clock::now() > deadline)
      return Error{
          ErrorKind::timeout,
          fmt::format("process {} has not ended within {} s", owner->pid, patience.count()),
          fmt::format("dllaunch cancel --now {}", view.run.dir.path)};
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
  }
  return exit_code::success;
}

/// "74_3" of an array is one task, with a directory of its own.
std::optional<std::string> task_of(const Options& options, const StoredRun& run) {
  const auto underscore = options.run.find('_');
  if (!run.plan.array || job_of_task(options.run).empty() || underscore == std::string::npos)
    return std::nullopt;
  return options.run.substr(underscore + 1);
}

Result<Outcome> end_job(const Options& options, const StoredRun& run, const JobIdentity& job,
                        Follower& follower, World& world) {
  const SlurmSettings settings{.at_once = options.now, .cancel = true};
  return attach_slurm(run.plan, run.dir, job, follower, world, settings);
}

FollowSettings settings_for(const StoredRun& run) {
  return {.ranks = run.plan.ranks(), .attached_at_s = run.began_at_s};
}

/// The array's other tasks go on, and so does whoever follows them: no summary is written.
Result<int> cancel_task(const Options& options, StoredRun run, const std::string& task,
                        World& world) {
  const std::string words = fmt::format("task {} of job {}", task, run.job_id);
  auto job = identity_of(run.plan, run.dir, run.job_id);
  job.id += "_" + task;
  run.dir = task_dir(run.dir, task);
  run.job_id += "_" + task;
  run.plan.array.reset();
  const auto known = finished_jobs(world, job);
  if (known.empty())
    return Error{ErrorKind::bad_request, fmt::format("Slurm knows no {}", words),
                 "squeue --me --array"};
  const auto& state = known.front().state;
  if (is_final_state(state)) {
    const auto ended = explain_jobs(run.plan, run.dir, run.job_id, known, RunLedger());
    world.print(fmt::format("{} is over already: {}\n", words, to_string(ended.status)));
    return exit_code::success;
  }
  Follower follower(world, run.dir, settings_for(run));
  auto outcome = end_job(options, run, job, follower, world);
  if (!outcome) return std::move(outcome).error();
  world.print(fmt::format("{} {}\n", words, to_string(outcome->status)));
  return exit_code::success;
}

Result<int> cancel_slurm(const Options& options, const StoredRun& run, World& world) {
  Follower follower(world, run.dir, settings_for(run));
  const auto job = identity_of(run.plan, run.dir, run.job_id);
  auto outcome = end_job(options, run, job, follower, world);
  if (!outcome) return std::move(outcome).error();
  if (!owner_of(run.dir)) {
    const auto summary = summary_of(*outcome, follower.ledger(), run.plan.ranks(), run.trains,
                                    seconds_since_began(run.dir, run.plan.launcher));
    auto written = write_file(run.dir.summary(), summary_text(summary));
    if (!written) world.note("dllaunch: warning: " + written.error().what + "\n");
  }
  return exit_code::success;
}

Result<int> cancel_run(const Options& options, World& world) {
  auto path = find_run(world, options.run);
  if (!path) return std::move(path).error();
  auto stored = read_stored_run(world, *path);
  if (!stored) return std::move(stored).error();
  auto view = observe_run(world, *std::move(stored));
  if (view.state == "unknown")
    return Error{ErrorKind::unavailable, "Slurm does not answer: nothing was cancelled",
                 "try again, or scancel " + view.run.job_id};
  if (view.state == "elsewhere") return check_cluster(world, view.run.dir, view.run.job_id).error();
  if (view.state == "ended") {
    auto settled = settle_run(world, view.run);
    if (!settled) return std::move(settled).error();
  }
  const bool slurm = view.run.plan.launcher == Launcher::slurm;
  const bool over = is_over(view) || (slurm && view.jobs.empty());
  const auto task = task_of(options, view.run);
  // What it waits to submit again is over for Slurm, but not for its user.
  const bool told = slurm && !task && tell_daemon(world, *path, over ? "cancel" : "leave");
  if (over && told) {
    world.print(fmt::format("{} is not submitted again: the daemon was told\n", *path));
    return exit_code::success;
  }
  if (over) {
    world.print(fmt::format("{} is over already: {}\n", *path, view.state));
    if (view.number_taken)
      world.print(fmt::format("job {} of Slurm's is another one now, and was left alone\n",
                              view.run.job_id));
    return exit_code::success;
  }
  if (slurm && task) return cancel_task(options, view.run, *task, world);
  auto done = slurm ? cancel_slurm(options, view.run, world) : cancel_local(options, view, world);
  if (!done) return done;
  auto after = read_stored_run(world, *path);
  const auto status = after ? stored_status(*after) : std::string();
  const auto checkpoint = newest_checkpoint(view.run.dir);
  world.print(fmt::format("{} {}\n", *path, status.empty() ? "ended" : status));
  if (!checkpoint.empty())
    world.print(fmt::format("  checkpoint  {}\n  next        {}   goes on from the checkpoint\n",
                            checkpoint, command_to_go_on(view.run)));
  return exit_code::success;
}

VerbBody declare(CLI::App& app) {
  auto options = std::make_shared<Options>();
  app.add_option("RUN", options->run, "a run directory, a run's or job's name, a job id")
      ->required();
  app.add_flag("--now", options->now, "do not wait for a checkpoint");
  return [options](World& world) { return cancel_run(*options, world); };
}

}  // namespace

extern const Verb cancel_verb;
const Verb cancel_verb{"cancel", "end a run: save a checkpoint, then stop", examples, declare};

}  // namespace dllaunch
