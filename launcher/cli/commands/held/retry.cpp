// Starts the ranks of a run again in the allocation that is held for it.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <system_error>
#include <thread>
#include <vector>

#include "launcher/base/shell_quote.hpp"
#include "launcher/cli/command.hpp"
#include "launcher/cli/command_options.hpp"
#include "launcher/cli/commands/job_options.hpp"
#include "launcher/job/job_changes.hpp"
#include "launcher/job/load_job.hpp"
#include "launcher/launch/prepare_job.hpp"
#include "launcher/monitor/find_run.hpp"
#include "launcher/monitor/observe_runs.hpp"
#include "launcher/os/stored_json.hpp"
#include "launcher/postmortem/finalize.hpp"
#include "launcher/run/job_record.hpp"
#include "launcher/run/journal.hpp"
#include "launcher/run/run_files.hpp"
#include "launcher/run/submit_folder.hpp"
#include "launcher/supervise/hold/retry_order.hpp"
#include "runtime/rank/run_ownership.hpp"
#include "support/json.hpp"
#include "support/json_fields.hpp"

namespace dllaunch {
namespace {

constexpr std::string_view retry_examples =
    R"(  dllaunch retry train                              with the script as it is now
  dllaunch retry 4711 --set train.optimizer.lr=0.01  and with one key changed
  dllaunch retry train --set 'run=[python3, train.py, --lr, "0.01"]'
)";

struct RetryArguments {
  std::string run;
  std::vector<std::string> sets;
};

/// Why there is nothing to retry, and what to do instead.
Error not_held(System& system, const RunState& run_state) {
  const auto& run = run_state.run;
  if (run_state.state == "unknown")
    return {ErrorKind::unavailable, "Slurm does not answer", "try again"};
  if (is_over(run_state))
    return {ErrorKind::bad_request,
            fmt::format("{} has no allocation any more: it has ended ({})", run.dir.path,
                        run_state.state),
            command_to_go_on(system, run.dir)};
  if (run_state.state == "pending")
    return {ErrorKind::bad_request, run.dir.path + " is not held: it waits in the queue",
            "dllaunch cancel, then dllaunch run with the changes"};
  return {ErrorKind::bad_request, run.dir.path + " is not held: it is " + run_state.state,
          "dllaunch status shows what it does; recovery.hold_on_error keeps the allocation of a "
          "program that fails"};
}

/// The fencing token of the start that is held.
Result<std::int64_t> held_start(System& system, const RunState& run_state) {
  const auto journal = read_journal(run_state.run.dir);
  const bool held = journal.decided && journal.last->next == Next::hold &&
                    run_state.state == "running" && journal.last->job == run_state.run.job_id;
  if (!held) return not_held(system, run_state);
  const auto owner = run_owner(run_state.run.dir.path);
  if (!owner) return owner.error();
  if (!*owner) return not_held(system, run_state);
  return (*owner)->first;
}

Error beyond(const std::vector<std::string>& changes, std::string_view why, const StoredRun& run) {
  return {ErrorKind::bad_request, fmt::format("{}: {}", fmt::join(changes, "; "), why),
          fmt::format("dllaunch cancel {0}, then dllaunch run {0} with them",
                      shell_quote(run.dir.path))};
}

/// The run's job file, with the changes.
Result<Job> changed_job(const RetryArguments& options, const StoredRun& run, std::string& changes,
                        System& system) {
  auto job = load_job(system, run.dir.job_yaml(), options.sets);
  if (!job || options.sets.empty()) return job;
  const auto before = load_job(system, run.dir.job_yaml(), {});
  if (!before) return before.error();
  if (const auto all = changes_beyond_ranks(before->resolved, job->resolved); !all.empty())
    return beyond(all, "the allocation, its script or srun's options follow this already", run);
  const bool continues = run.trains && !newest_checkpoint(run.dir).empty();
  const auto other =
      continues ? changes_that_matter(before->resolved, job->resolved) : std::vector<std::string>();
  if (!other.empty()) return beyond(other, "the run's checkpoints are of another training", run);
  changes = fmt::format("{}", fmt::join(all_changes(before->resolved, job->resolved), "; "));
  return job;
}

/// The plan stays what it was, but for what the ranks read.
Result<Json> changed_plan(const LaunchPlan& plan, const StoredRun& run, std::int64_t token,
                          System& system) {
  const auto text = system.read_file(run.dir.plan_json());
  if (!text) return text.error();
  auto document = json_object_in(*text);
  for (const auto& [name, value] : plan_from_json(document).environment) {
    const bool kept = std::ranges::any_of(
        plan.environment, [&name](const auto& variable) { return variable.first == name; });
    if (!kept)
      return beyond({"environment.variables." + name}, "the job's script has exported it", run);
  }
  const Json now = to_json(plan);
  for (const char* key : {"environment", "recovery", "srun", "mpirun"})
    if (now.contains(key)) document[key] = now[key];
  document[std::string(retry_key)] = token;
  return document;
}

Result<RetryOrder> make_order(const RetryArguments& options, const StoredRun& run,
                              std::int64_t token, System& system) {
  RetryOrder order{.by = fmt::format("process {} on {}", getpid(), system.host_name())};
  const auto job = changed_job(options, run, order.changes, system);
  if (!job) return job.error();
  auto facts = find_facts(system, {}, job->cluster, job->resources.partition);
  if (!facts) return std::move(facts).error();
  auto paths = program_paths(run.dir.path);
  if (!paths) return paths.error();
  // The ranks start where the job's script is, not where this command was typed.
  paths->work_dir = submit_folder(system, run.dir.path).value_or(paths->work_dir);
  const auto planned = plan_loaded(system, {.allocated = true}, *job, *paths, *std::move(facts));
  if (!planned) return planned.error();
  if (!planned->plan) return planned->plan.error();
  const auto& plan = *planned->plan;
  if (plan.ranks() != run.plan.ranks())
    return Error{ErrorKind::bad_request,
                 fmt::format("the job file asks for {} ranks, and the allocation was made for {}",
                             plan.ranks(), run.plan.ranks()),
                 "undo the changes in " + run.dir.job_yaml()};
  const auto document = changed_plan(plan, run, token, system);
  if (!document) return document.error();
  if (plan.train_json.empty())
    order.program = plan.start.program;
  else
    order.files.emplace_back("train.json", plan.train_json);
  order.variables = plan.environment;
  order.files.emplace_back("job.yaml", job_text(planned->job));
  order.files.emplace_back("plan.json", json_text(*document));
  return order;
}

/// Waits until the supervisor has started the ranks.
Result<Ok> wait_for_start(const RunDir& run, std::int64_t token) {
  using Clock = std::chrono::steady_clock;
  const auto give_up_at = Clock::now() + std::chrono::seconds(60);
  std::string waits;
  while (Clock::now() < give_up_at) {
    const auto journal = read_journal(run);
    waits = journal.waits ? ": it " + words_of(*journal.waits) : "";
    const bool heard = journal.retry && journal.retry->fencing_token == token;
    if (heard && journal.history.size() > journal.before_retry) return Ok{};
    if (journal.decided && journal.last->next == Next::stop)
      return Error{ErrorKind::unavailable, "the run has ended: " + journal.last->reason, ""};
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
  }
  return Error{ErrorKind::timeout,
               "the job's supervisor has not started the ranks within 60 s" + waits,
               "dllaunch status " + shell_quote(run.path)};
}

/// The supervisor looks for an order where the run was when it began. This machine may know that
/// place by another name, or as none.
Result<Ok> check_place(System& system, const RunDir& run) {
  const auto text = system.read_file(run.plan_json());
  const auto before = text ? value_at<std::string>(json_object_in(*text), "run_dir") : "";
  std::error_code error;
  if (before.empty() || std::filesystem::exists(before, error) || error) return Ok{};
  if (!std::filesystem::exists(std::filesystem::path(before).parent_path(), error)) return Ok{};
  return Error{
      ErrorKind::bad_request,
      fmt::format("{} was {} when its job began, which waits there for a retry", run.path, before),
      fmt::format("mv {} {}", shell_quote(run.path), shell_quote(before))};
}

bool is_same(const RetryOrder& one, const RetryOrder& other) {
  return one.program == other.program && one.variables == other.variables &&
         one.files == other.files;
}

Result<int> retry(const RetryArguments& options, System& system) {
  const auto path = find_run(system, options.run);
  if (!path) return path.error();
  auto stored = read_stored_run(system, *path);
  if (!stored) return std::move(stored).error();
  const auto run_state = observe_run(system, *std::move(stored));
  const auto& run = run_state.run;
  const auto token = held_start(system, run_state);
  if (!token) return token.error();
  if (auto own = check_own_job(system, run.plan, run.dir, run.job_id); !own)
    return std::move(own).error();
  if (auto there = check_place(system, run.dir); !there) return std::move(there).error();
  const auto order = make_order(options, run, *token, system);
  if (!order) return order.error();
  auto asked = end_hold(run.dir, *token, *order);
  if (!asked && asked.error().kind != ErrorKind::unsatisfiable) return std::move(asked).error();
  const auto end = asked ? std::optional(*order) : end_of_hold(run.dir, *token);
  if (!end || end->over)
    return Error{ErrorKind::bad_request, "the hold has ended meanwhile",
                 command_to_go_on(system, run.dir)};
  if (auto started = wait_for_start(run.dir, *token); !started) return std::move(started).error();
  const auto with = end->changes.empty() ? "" : ", with " + end->changes;
  if (!is_same(*end, *order))
    return Error{ErrorKind::bad_request,
                 fmt::format("{} has started the ranks again already{}", end->by, with),
                 "dllaunch status " + shell_quote(run.dir.path)};
  system.print(
      fmt::format("{}: the ranks start again in job {}{}\n", run.dir.path, run.job_id, with));
  return exit_code::success;
}

CommandBody declare_retry(CommandOptions& app) {
  auto options = std::make_shared<RetryArguments>();
  app.add_option("RUN", options->run, "a run directory, a run's or job's name, a job id")
      ->required();
  add_sets(app, options->sets, "the run's job file, RUN/job.yaml");
  return [options](System& system) { return retry(*options, system); };
}

}  // namespace

extern const Command retry_command;
const Command retry_command{"retry", "after an error: start the ranks again in the held allocation",
                            retry_examples, declare_retry};

}  // namespace dllaunch
