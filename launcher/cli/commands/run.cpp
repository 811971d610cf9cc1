// The main command: from a job file to a finished run.
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <memory>
#include <optional>

#include "launcher/base/shell_quote.hpp"
#include "launcher/cli/command.hpp"
#include "launcher/cli/command_options.hpp"
#include "launcher/cli/commands/job_options.hpp"
#include "launcher/job/load_job.hpp"
#include "launcher/launch/allocated.hpp"
#include "launcher/launch/ask_stages.hpp"
#include "launcher/launch/dependencies.hpp"
#include "launcher/launch/local.hpp"
#include "launcher/launch/local_components.hpp"
#include "launcher/launch/prepare_components.hpp"
#include "launcher/launch/prepare_job.hpp"
#include "launcher/launch/slurm.hpp"
#include "launcher/launch/unseen_end.hpp"
#include "launcher/monitor/find_run.hpp"
#include "launcher/os/atomic_file.hpp"
#include "launcher/os/background.hpp"
#include "launcher/os/stop_signals.hpp"
#include "launcher/os/storage_patience.hpp"
#include "launcher/os/stored_json.hpp"
#include "launcher/plan/divide_gpus.hpp"
#include "launcher/plan/program_paths.hpp"
#include "launcher/postmortem/finalize.hpp"
#include "launcher/presubmit/before_queue.hpp"
#include "launcher/provenance/record_provenance.hpp"
#include "launcher/queue/soonest.hpp"
#include "launcher/run/array_progress.hpp"
#include "launcher/run/job_record.hpp"
#include "launcher/run/kept_files.hpp"
#include "launcher/run/run_files.hpp"
#include "launcher/run/run_index.hpp"
#include "launcher/run/stored_run.hpp"
#include "launcher/run/submit_folder.hpp"
#include "launcher/staging/stage_job.hpp"
#include "runtime/rank/rank_env.hpp"
#include "support/counted.hpp"
#include "support/held_folder.hpp"
#include "support/json_fields.hpp"

namespace dllaunch {
namespace {

constexpr std::string_view run_examples =
    R"(  dllaunch train.yaml                           submit or start here, follow, summarise
  dllaunch run train                            continue the newest run of that name
  dllaunch run train.yaml --set train.epochs=5  with one key changed
  dllaunch run train.yaml --dry-run             the plan, and nothing else
  dllaunch run train.yaml --run-dir runs/a      run again: resume from the last checkpoint
  dllaunch run train.yaml --soonest             in the shape that finishes first
  dllaunch run train.yaml --local --detach      in the background on this machine
  salloc -N2 --exclusive dllaunch run train.yaml --allocated
                                                in the allocation that is there
)";

struct RunOptions {
  std::string job_file;
  std::vector<std::string> sets;
  bool local = false;
  bool allocated = false;
  std::string nodelist;
  bool detach = false;
  bool json = false;
  bool dry_run = false;
  bool soonest = false;
  std::string run_dir;
};

/// Takes the shape that would finish first; the estimate goes into the run's directory.
/// bad_request: the run exists, and has its shape.
Result<StartRecord> take_soonest(RunOptions& options, System& system) {
  if (holds_a_run(options.run_dir))
    return Error{ErrorKind::bad_request,
                 "--soonest chooses the shape of a new run, and this one has its own",
                 "dllaunch run " + shell_quote(options.run_dir)};
  if (options.local || options.dry_run)
    return Error{ErrorKind::bad_request, "--soonest submits to the queue",
                 "leave out --soonest; `dllaunch when` shows the shapes"};
  const auto found = find_soonest(system, {.job_file = options.job_file, .sets = options.sets});
  const auto best = found ? choose(*found) : found.error();
  if (!best) return best.error();
  system.log("dllaunch: soonest: " + choice_of(*found, *best) + "\n");
  options.sets.insert(options.sets.end(), best->shape.sets.begin(), best->shape.sets.end());
  return record_of(*best, found->now_s);
}

struct Planned {
  Job job;
  LaunchPlan plan;
  std::optional<JobAllocation> allocation = {};  // that it runs in; nullopt: none that is there
  std::optional<ModularPlan> modular = {};       // of a job with components; `plan` is its whole
  SharedMachine machine = {};                    // that its components share, without Slurm
  std::string start = {};                        // when Slurm expects to start it
  bool nothing_left = false;                     // every task of the array has completed
};

/// The trainer beside this program, else the one on PATH; and where copies are kept of what the run
/// executes, if its directory is not trusted.
Result<Paths> find_paths(const RunOptions& options, const Job& job, bool trains, System& system) {
  auto paths = program_paths(options.run_dir.empty() ? new_run_path(job.name) : options.run_dir);
  if (!paths) return paths;
  paths->files = kept_folder(system, paths->run_dir, /*make=*/!options.dry_run);
  if (!trains || system.find_program(paths->dltrain)) return paths;
  const auto found = system.find_program("dltrain");
  if (!found)
    return Error{ErrorKind::unavailable,
                 "the trainer dltrain is neither at " + paths->dltrain + " nor on PATH",
                 "build it (cmake --build --preset release), or put it in the folder of dllaunch"};
  paths->dltrain = *found;
  return paths;
}

/// Returns an error for what Slurm would reject or what would fail at once; logs warnings.
Result<Ok> check_queue(const QueueReport& report, System& system) {
  for (const auto& finding : report.findings) {
    if (finding.fatal) continue;
    system.log("dllaunch: warning: " + text_with_id(finding) + "\n");
    const auto& hint = finding.problem.hint;
    if (!hint.empty()) system.log(fmt::format("  try: {}\n", hint));
  }
  return report.passed() ? Result<Ok>(Ok{}) : as_error(report);
}

/// Takes job file and directory from a run that is named in the job file's place. A run continues
/// in the folder where it was submitted. bad_request: --run-dir is a run's name, which would become
/// a new directory; or that folder is missing.
Result<RunOptions> resolve_runs(RunOptions options, System& system) {
  std::error_code ignored;
  const bool is_there = std::filesystem::exists(options.run_dir, ignored);
  if (options.run_dir.find('/') == std::string::npos && !is_there) {
    if (const auto named = run_named(system, options.run_dir))
      return Error{ErrorKind::bad_request,
                   fmt::format("--run-dir {}: there is no such directory, but a run of that name",
                               options.run_dir),
                   fmt::format("dllaunch run {0} continues it; --run-dir ./{0} is a new directory",
                               shell_quote(options.run_dir))};
  }
  const auto run = run_named(system, options.job_file);
  if (run && !options.run_dir.empty())
    return Error{ErrorKind::bad_request,
                 options.job_file + " is a run, which has its directory already",
                 "leave out --run-dir, or give the path of a job file"};
  if (run) {
    system.log(fmt::format("dllaunch: continues run {}\n", run->dir.path));
    const auto files = executed_files(system, run->dir);
    if (!files) return files.error();
    options.job_file = files->job_yaml();
    options.run_dir = run->dir.path;
    const bool was_local = run->plan.launcher == Launcher::local && !run->plan.allocated;
    options.local = options.local || (!options.allocated && was_local);
  }
  auto entered = enter_submit_folder(system, options.run_dir, options.job_file);
  if (!entered) return std::move(entered).error();
  return options;
}

Result<Ok> fit_into_allocation(const RunOptions& options, Planned& planned, System& system) {
  if (planned.plan.launcher != Launcher::slurm)
    return Error{ErrorKind::bad_request, "--allocated: there is no Slurm here", "leave it out"};
  auto allocation =
      allocation_here(system, options.nodelist, planned.plan.network_order, planned.plan.network);
  if (!allocation) return std::move(allocation).error();
  planned.allocation = *std::move(allocation);
  return fit_into(*planned.allocation, planned.plan);
}

bool any_trains(const Job& job) {
  const auto trains = [](const auto& part) { return !part.job.train.is_null(); };
  return std::ranges::any_of(job.components, trains);
}

/// The same for a job with components.
Result<Planned> make_modular_plan(const RunOptions& options, Job job, System& system) {
  if (options.allocated)
    return Error{ErrorKind::bad_request, "--allocated does not take a job with components",
                 "leave it out: a modular job is a Slurm job of its own"};
  auto dependencies = resolve_dependencies(system, job.after);
  if (!dependencies) return std::move(dependencies).error();
  for (const auto& note : dependencies->notes) system.log("dllaunch: " + note + "\n");
  job.after = dependencies->jobs;
  for (auto& part : job.components) part.job.after = job.after;
  auto paths = find_paths(options, job, any_trains(job), system);
  if (!paths) return std::move(paths).error();
  auto made =
      plan_components(system, {.local = options.local}, job, *paths, /*check=*/!options.dry_run);
  if (!made) return std::move(made).error();
  if (made->elsewhere) return *std::move(made->elsewhere);
  if (auto good = check_queue(made->report, system); !good) return std::move(good).error();
  const bool local = made->plan.whole.launcher == Launcher::local;
  if (local && !job.after.empty())
    return Error{ErrorKind::bad_request, "after: a run outside the queue does not wait",
                 "start this run when those have completed"};
  if (local && !options.local)
    system.log(fmt::format("dllaunch: no Slurm here ({}): starting on this machine\n",
                           made->why_no_slurm));
  for (const auto& warning : made->plan.whole.warnings)
    system.log("dllaunch: warning: " + warning + "\n");
  auto whole = made->plan.whole;
  return Planned{std::move(made->job),  std::move(whole),         std::nullopt,
                 std::move(made->plan), std::move(made->machine), estimate_words(made->report)};
}

/// parse -> observe -> plan -> check: everything that needs no run directory.
Result<Planned> make_plan(const RunOptions& options, System& system) {
  auto job = load_any_job(system, options.job_file, options.sets);
  if (!job) return std::move(job).error();
  if (!job->components.empty()) return make_modular_plan(options, *std::move(job), system);
  auto facts = find_facts(system, {.local = options.local}, job->cluster, job->resources.partition);
  if (!facts) return std::move(facts).error();
  // A dry run resolves job ids too: they are in the script.
  auto dependencies = resolve_dependencies(system, job->after);
  if (!dependencies) return std::move(dependencies).error();
  for (const auto& note : dependencies->notes) system.log("dllaunch: " + note + "\n");
  job->after = std::move(dependencies->jobs);
  auto paths = find_paths(options, *job, !job->train.is_null(), system);
  if (!paths) return std::move(paths).error();
  const bool queues = !options.local && !options.allocated && facts->slurm;
  const auto variables = queues ? variables_that_count(system, *facts, {}) : SbatchVariables{};
  job = divide_gpus(*std::move(job), *facts, variables, options.local);
  if (!job) return std::move(job).error();
  auto effective = effective_job(*job, *facts, variables, options.local);
  const bool any_left = leave_out_completed(options.run_dir, effective.array);
  auto made = plan_avoiding(system, {.local = options.local, .allocated = options.allocated},
                            effective, *facts, *paths, variables);
  if (made && !options.dry_run)
    if (auto here = check_submittable(*facts, *made); !here) return std::move(here).error();
  QueueReport report;
  if (queues && (!made || !options.dry_run)) {
    report = check_before_queue(effective, *facts, *paths, made, facts->from_profile, system);
    if (auto good = check_queue(report, system); !good) return std::move(good).error();
  }
  if (made = with_stage_warnings(system, std::move(made)); !made) return std::move(made).error();
  Planned planned{
      .job = *std::move(job), .plan = *std::move(made), .start = estimate_words(report)};
  planned.nothing_left = !any_left;
  if (options.allocated)
    if (auto fits = fit_into_allocation(options, planned, system); !fits)
      return std::move(fits).error();
  if (planned.plan.launcher == Launcher::local && !planned.job.after.empty())
    return Error{
        ErrorKind::bad_request,
        fmt::format("after: job {} has not completed, and a run outside the queue does not wait",
                    planned.job.after.front()),
        "start this run when that job has completed"};
  if (!options.local && !facts->slurm) {
    system.log(fmt::format("dllaunch: no Slurm here ({}): starting on this machine\n",
                           facts->why_no_slurm));
  }
  for (const auto& one : planned.plan.warnings) system.log("dllaunch: warning: " + one + "\n");
  return planned;
}

void show_plan(const Planned& planned, System& system) {
  const auto& plan = planned.plan;
  if (planned.modular) {
    system.print(render_plan(*planned.modular));
    if (plan.launcher == Launcher::slurm) system.print("\n" + render_sbatch(*planned.modular));
    return;
  }
  system.print(render_plan(plan));
  if (plan.launcher == Launcher::slurm && plan.scheduler == "Slurm")
    system.print("\n" + render_sbatch(plan));
}

SlurmSettings slurm_settings(const RunOptions& options, System& system) {
  SlurmSettings settings{.detach = options.detach};
  if (isatty(STDIN_FILENO) != 0 && system.console().terminal_err) settings.ask = ask_at_terminal;
  return settings;
}

/// What tells a run that goes on without this command.
struct Detached {
  std::string what;  // job, pid
  std::string number;
};

void show_detached(const RunOptions& options, const RunDir& run, const Detached& detached,
                   System& system) {
  if (!options.json)
    return system.print(fmt::format("run  {}\n{}  {}\n", run.path, detached.what, detached.number));
  system.print(json_text({{"run_dir", run.path}, {detached.what, detached.number}}));
}

Result<int> finish(const RunOptions& options, const RunDir& run, const HeldFolder& folder,
                   const Outcome& outcome, const Summary& summary, System& system) {
  system.log(render_failure(outcome));
  if (outcome.taken_over) return outcome.exit_code;
  system.print(render_summary(summary, {.run_dir = run.path,
                                        .checkpoint = newest_checkpoint(run),
                                        .next = command_to_go_on(system, run) +
                                                (options.allocated ? " --allocated" : "")}));
  const auto write = [&] {
    auto there = folder.check();
    return there ? write_file(run.summary(), summary_text(summary)) : there;
  };
  // Whoever stopped the run, or stops it now, waits for nothing.
  const StopSignals signals;
  const auto written =
      outcome.status == RunStatus::cancelled
          ? write()
          : despite_storage(
                write, [&](const std::string& words) { system.log("dllaunch: " + words + "\n"); },
                [&](std::chrono::milliseconds pause) {
                  signals.wait(pause);
                  return signals.count() > 0;
                });
  // The run's outcome matters more; `status` tries again when the disk has room.
  if (!written) system.log("dllaunch: warning: " + written.error().what + "\n");
  return outcome.exit_code;
}

/// `attached`: this run's job that is already queued, and since when.
struct Attached {
  std::string id;
  double since_s = 0;  // Unix seconds
};

Result<int> execute(const RunOptions& options, const Planned& planned, const RunDir& run,
                    const std::optional<Attached>& attached, const RunLock& lock, System& system) {
  const auto& [job, plan, allocation, modular, machine, start, nothing_left] = planned;
  const bool slurm = plan.launcher == Launcher::slurm;
  const HeldFolder folder(run.path);
  bool background = false;
  if (options.detach && !slurm) {
    const auto pid = fork_into_background(run.path + "/dllaunch.log");
    if (!pid) return pid.error();
    if (*pid > 0) {
      show_detached(options, run, {"pid", std::to_string(*pid)}, system);
      return exit_code::success;
    }
    background = true;
    lock.sign();
  }
  FollowSettings settings{.ranks = plan.ranks(),
                          .show_logs = job.train.is_null() || system.console().verbosity > 0,
                          .terminal = system.console().terminal_err && !background};
  settings.epochs = value_at<std::optional<std::int64_t>>(job.train, "epochs");
  for (const auto& one : plan.components) settings.components.push_back(one.name);
  settings.max_steps = value_at<std::optional<std::int64_t>>(job.train, "max_steps");
  if (attached) settings.attached_at_s = attached->since_s;
  // --soonest has said when it starts, and knows of gaps in the queue too.
  if (slurm && !attached && !options.soonest && !start.empty())
    system.log(fmt::format("dllaunch: {}\n", start));
  Follower follower(system, run, settings);
  follower.log(fmt::format(
      "{}: {}{}{} {}, {}", plan.name,
      plan.array ? fmt::format("array {} of ", attached ? *job.array : *plan.array) : "",
      counted(plan.ranks(), "rank"), plan.array ? " per task" : "",
      slurm        ? "on " + node_words(plan)
      : allocation ? "on " + allocation->nodes
                   : "on this machine",
      run.path));
  // Its ranks may outlive a dllaunch that is killed, for a moment.
  if (allocation) lock.pass_on();
  const auto watch = slurm_settings(options, system);
  auto outcome = attached ? attach_slurm(plan, run, identity_of(plan, run, attached->id), follower,
                                         system, watch)
                 : slurm  ? execute_slurm(plan, run, follower, system, watch)
                 : allocation ? execute_allocated(plan, run, *allocation, follower, system)
                 : modular    ? execute_components(*modular, machine, run, follower, system)
                              : execute_local(plan, run, follower, system);
  if (!outcome) return std::move(outcome).error();
  if (outcome->detached) {
    const auto id = system.read_file(run.job_id());
    show_detached(options, run, {"job", id ? id->substr(0, id->find('\n')) : "unknown"}, system);
    return exit_code::success;
  }
  const StoredRun ended{
      .dir = run, .plan = plan, .trains = !job.train.is_null(), .summary = nullptr};
  const auto summary = final_summary(system, ended, *outcome, follower.totals());
  return finish(options, run, folder, *outcome, summary, system);
}

/// A repeated `run` follows the job that is still queued or running.
Result<std::optional<Attached>> find_attached(const LaunchPlan& plan, const RunDir& run,
                                              System& system) {
  auto job = job_of_run(plan, run, system);
  if (!job) return std::move(job).error();
  if (!*job) return std::optional<Attached>();
  // The job file may have another name now.
  const auto stored = read_stored_run(system, run.path);
  const RunOutline& outline = stored ? stored->plan : plan;
  if (auto own = check_own_job(system, outline, run, (*job)->id); !own)
    return std::move(own).error();
  system.log(
      fmt::format("dllaunch: job {} of this run is {}: following it\n", (*job)->id, (*job)->state));
  return std::optional(Attached{(*job)->id, stored ? stored->began_at_s : 0});
}

Result<Ok> write_files_into(const RunDir& into, const Planned& planned, Readers readers) {
  return planned.modular ? write_run_files(into, planned.job, *planned.modular, readers)
                         : write_run_files(into, planned.job, planned.plan, readers);
}

/// What the run executes where others can replace its directory. Old ones go first: none of theirs
/// may pass for one of these.
Result<Ok> write_copies(const RunDir& run, const Planned& planned, System& system) {
  const auto& folder = planned.plan.paths.files;
  if (const auto state = state_folder(system))
    if (auto gone = forget_kept_files(*state, run.path); !gone) return gone;
  if (folder.empty()) return Ok{};
  auto copies = run;
  copies.path = folder;
  // The checks before the queue have said it.
  if (planned.plan.launcher != Launcher::slurm || planned.allocation)
    system.log(fmt::format("dllaunch: warning: {}: what the run executes is taken from {}\n",
                           why_not_trusted(run.path), folder));
  auto made = make_closed_folder(folder);
  if (made && !run.id.empty()) made = write_file(folder + "/.run-id", run.id);
  if (made) made = write_files_into(copies, planned, Readers::none);
  // Half of the copies must not count; the error of writing says more than that of removing.
  if (!made) (void)forget_kept_files(*state_folder(system), run.path);
  return made;
}

Result<int> run_job(const RunOptions& given, System& system) {
  auto resolved = resolve_runs(given, system);
  if (!resolved) return std::move(resolved).error();
  const auto estimate = given.soonest ? take_soonest(*resolved, system) : StartRecord{};
  if (!estimate) return estimate.error();
  const RunOptions& options = *resolved;
  auto planned = make_plan(options, system);
  if (!planned) return std::move(planned).error();
  const auto& plan = planned->plan;
  if (options.dry_run) {
    show_plan(*planned, system);
    return exit_code::success;
  }
  const bool slurm = plan.launcher == Launcher::slurm;
  if (!slurm && !planned->allocation) {
    auto good = planned->modular ? check_local_components(*planned->modular, system)
                                 : check_local(plan, system);
    if (!good) return std::move(good).error();
  }
  if (const auto missing = missing_sources(plan.stage.sources); !missing.empty())
    return Error{ErrorKind::bad_request, fmt::format("stage: {}", fmt::join(missing, "; ")),
                 "check `stage:` in the job file"};
  auto run = make_run_dir(plan.paths.run_dir);
  if (!run) return std::move(run).error();
  // Its owner may write another id at any time.
  struct stat info {};
  if (!plan.paths.files.empty() && stat(run->path.c_str(), &info) == 0 && is_anothers(info.st_uid))
    run->id.clear();
  auto lock = RunLock::take(*run);
  if (!lock) return std::move(lock).error();
  auto good = check_same_job(system, *run, planned->job, plan);
  if (!good) return std::move(good).error();
  std::optional<Attached> attached;
  if (slurm || planned->allocation) {
    auto found = find_attached(plan, *run, system);
    if (!found) return std::move(found).error();
    if (planned->allocation && *found)
      return Error{ErrorKind::bad_request,
                   fmt::format("job {} of this run is still there", (*found)->id),
                   "leave out --allocated to follow it, or dllaunch cancel it first"};
    attached = *std::move(found);
  }
  const bool completed = !attached && run->resumed && close_submission(system, *run);
  if (completed && !options.detach && show_unseen_end(system, *run, planned->job)) return 0;
  if (planned->nothing_left && !attached) {
    system.log(fmt::format("dllaunch: all tasks of {} have completed; a new run: dllaunch run {}\n",
                           run->path, shell_quote(run->job_yaml())));
    if (options.json) system.print(json_text({{"run_dir", run->path}, {"job", nullptr}}));
    return exit_code::success;
  }
  if (!attached && plan.array != planned->job.array)
    system.log(fmt::format("dllaunch: tasks that have completed are left out: array {}\n",
                           plan.array.value_or("")));
  if (!attached) good = share_run_dir(*run, plan.share);
  const auto& files = plan.paths.files;
  const bool is_copy = !files.empty() && options.job_file == RunDir{.path = files}.job_yaml();
  const auto job_file = is_copy ? run->job_yaml() : options.job_file;
  const auto readers = readers_of(job_file);
  if (good && !attached) good = write_files_into(*run, *planned, readers);
  if (good && !attached) good = write_copies(*run, *planned, system);
  if (!good) return std::move(good).error();
  if (!attached)
    record_provenance(system, *run, planned->job, plan,
                      {.job_file = job_file,
                       .sets = options.sets,
                       .variables = process_variables(),
                       .readers = readers});
  if (given.soonest && !attached)
    if (auto kept = keep_estimate(*run, *estimate); !kept)
      system.log("dllaunch: warning: " + kept.error().what + "\n");
  // A component is listed with its whole.
  const bool is_component = system.environment("DLLAUNCH_COMPONENT").has_value();
  if (auto known = is_component ? Result<Ok>(Ok{}) : remember_run(system, *run);
      !known && system.console().verbosity > 0)
    system.log("dllaunch: " + known.error().what + "\n");
  if (attached && options.detach) {
    show_detached(options, *run, {"job", attached->id}, system);
    return exit_code::success;
  }
  return execute(options, *planned, *run, attached, *lock, system);
}

CommandBody declare_run(CommandOptions& app) {
  auto options = std::make_shared<RunOptions>();
  add_job_options(app, options->job_file, options->sets, "the job file; or a run, which continues");
  auto* local = app.add_flag("--local", options->local, "on this machine, even if it has Slurm");
  auto* allocated = app.add_flag("--allocated", options->allocated,
                                 "in the Slurm allocation around this command, without a new job")
                        ->excludes(local);
  app.add_option("--nodelist", options->nodelist,
                 "with --allocated: on these of its nodes [the first]")
      ->type_name("HOSTS")
      ->needs(allocated);
  auto* detach = app.add_flag("--detach", options->detach, "return once submitted or started");
  app.add_flag("--json", options->json, "with --detach: one JSON document")->needs(detach);
  app.add_flag("--soonest", options->soonest,
               "in the shape of its work that would finish first (dllaunch when)")
      ->excludes(local)
      ->excludes(allocated);
  app.add_flag("--dry-run", options->dry_run, "print the plan and the script; write nothing");
  app.add_option("--run-dir", options->run_dir,
                 "directory for all files of this run [runs/NAME-TIME]")
      ->type_name("DIR");
  return [options](System& system) { return run_job(*options, system); };
}

}  // namespace

extern const Command run_command;
const Command run_command{"run", "run a job, here or on Slurm, and follow it", run_examples,
                          declare_run};

}  // namespace dllaunch
