#include "launcher/postmortem/slurm_outcome.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cstdlib>
#include <map>

#include "launcher/base/exit_code.hpp"
#include "launcher/base/unix_seconds.hpp"
#include "launcher/job/recovery.hpp"
#include "launcher/postmortem/exit_classification.hpp"
#include "launcher/postmortem/failure_summary.hpp"
#include "launcher/run/failure.hpp"
#include "launcher/run/first_error.hpp"
#include "launcher/run/journal.hpp"
#include "launcher/slurm/array_tasks.hpp"
#include "launcher/slurm/scontrol_parser.hpp"
#include "support/counted.hpp"

namespace dllaunch {
namespace {

constexpr std::size_t most_excerpt_lines = 12;
constexpr std::size_t most_log_bytes = 262144;

struct Verdict {
  RunStatus status;
  std::string_view reason;
  std::string_view advice;
};

/// All states except FAILED and COMPLETED, which need further checks.
const std::map<std::string, Verdict, std::less<>> verdicts = {
    {"TIMEOUT",
     {RunStatus::timeout, "reached its time limit",
      "raise resources.time, or run again to resume from the checkpoint"}},
    {"DEADLINE",
     {RunStatus::timeout, "reached its deadline",
      "submit it earlier, or with a later --deadline in resources.sbatch_extra"}},
    {"OUT_OF_MEMORY",
     {RunStatus::out_of_memory, "ran out of memory",
      "lower train.batch_size, use fewer ranks per node, or ask for all of a node's memory with "
      "resources.sbatch_extra: [--mem=0]"}},
    {"NODE_FAIL",
     {RunStatus::node_fail, "lost a node", "run again; resources.exclude avoids the node"}},
    {"BOOT_FAIL",
     {RunStatus::node_fail, "got a node that did not boot",
      "run again; resources.exclude avoids the node"}},
    {"PREEMPTED",
     {RunStatus::preempted, "was preempted by another job",
      "run again to continue; jobs of another resources.qos or resources.partition may not be "
      "preempted"}},
    {"CANCELLED", {RunStatus::cancelled, "was cancelled", ""}},
    {"REVOKED", {RunStatus::cancelled, "was revoked: it runs on another cluster", ""}},
};

std::string value_of(const std::vector<std::pair<std::string, std::string>>& options,
                     std::string_view name) {
  for (const auto& [option, value] : options) {
    if (option == name) return value;
  }
  return "";
}

std::optional<double> unix_seconds_of(const std::string& time) {
  const auto parsed = parse_slurm_time(time);
  return parsed ? std::optional(static_cast<double>(*parsed)) : std::nullopt;
}

/// Whether Slurm's "checkpoint now" signal may have arrived: grace_seconds before the limit, or up
/// to 60 s earlier.
bool was_warned(const RunOutline& plan, const SlurmJob& job) {
  const auto limit = parse_slurm_minutes(value_of(plan.sbatch, "--time"));
  const auto end = job.end.empty() ? slurm_time(unix_seconds()) : job.end;
  const auto ran = seconds_between(job.start, end);
  return limit && ran && *ran >= *limit * 60 - plan.grace_seconds - 60;
}

/// A trainer that is asked to stop saves and exits with 0: the job reads COMPLETED, the training is
/// not complete.
Outcome saved_and_stopped(const RunOutline& plan, const SlurmJob& job) {
  Outcome outcome{.status = RunStatus::cancelled, .exit_code = exit_code::job_failed};
  outcome.reason = " was asked to save and stop";
  if (was_warned(plan, job)) {
    outcome.status = RunStatus::timeout;
    outcome.reason = " saved its state and stopped before its time limit";
    outcome.advice = "run again to continue, or raise resources.time";
  }
  return outcome;
}

/// A command without a handler for the signal is terminated by it.
Outcome killed_by_the_warning(const RunOutline& plan) {
  return {.status = RunStatus::timeout,
          .exit_code = exit_code::job_failed,
          .reason = fmt::format(" was ended by SIG{}, which Slurm sends {} s before the time "
                                "limit and the command does not catch",
                                plan.signal, plan.grace_seconds),
          .advice = fmt::format("raise resources.time, or catch SIG{} and save a checkpoint",
                                plan.signal)};
}

/// Returns what the supervisor recorded when it gave up or completed the job; nullopt: it did not,
/// or there was none.
std::optional<JournalDecision> given_up(const RunDir& run, const SlurmJob& job) {
  auto last = read_journal(run).last;
  if (!last || last->next != Next::stop) return std::nullopt;
  // A task of an array has its own directory and two ids.
  const bool ours = job.array_task.empty()
                        ? last->job == job.id && last->allocation >= job.restarts
                        : last->time >= unix_seconds_of(job.start).value_or(0) - 1;
  return ours ? std::move(last) : std::nullopt;
}

/// Adds the stacks of the newest attempt, if it was ended for a stall.
void add_stacks_of_stall(const RunDir& run, Outcome& outcome) {
  const auto journal = read_journal(run);
  if (!journal.history.empty() && journal.history.back().cause == Cause::stalled)
    add_stacks(run, journal.attempt_began_s, outcome);
}

/// Adds what is known of a stall that is not over, of the newest attempt: one that failed before
/// its training began has not ended the stall of the attempt before it.
void add_stall_and_stacks(const RunDir& run, const RunTotals& totals, Outcome& outcome) {
  const double began_s = read_journal(run).attempt_began_s;
  if (!totals.stall() || totals.stall()->time < began_s) return;
  add_stall(run, totals, outcome);
  if (totals.stall()->state == "gave up") add_stacks(run, began_s, outcome);
}

/// What failed beside a completed job may be why it ended, and what a rank wrote last may be an
/// error that its exit code hides.
Outcome completed(const RunDir& run, const SlurmJob& job) {
  const auto last = given_up(run, job);
  const auto but = last && !last->beside.empty()
                       ? last->beside
                       : words_of_traceback(run, unix_seconds_of(job.start).value_or(0));
  if (but.empty()) return {};
  return {.reason = fmt::format(" has completed, but {}", but)};
}

/// Whether a process of the job ran out of memory and the work was completed anyway. Slurm reports
/// OUT_OF_MEMORY (exit code 0:125) whatever the script returns.
bool recovered_from_memory(const RunDir& run, const SlurmJob& job) {
  if (job.state != "OUT_OF_MEMORY") return false;
  const auto last = given_up(run, job);
  return last && last->status == RunStatus::completed;
}

/// The supervisor restarts ranks in the same job: the newest attempt decides.
std::string of_newest_attempt(const std::string& job_words) {
  const auto mark = job_words.rfind(attempt_mark);
  return mark == std::string::npos ? job_words : job_words.substr(mark);
}

/// Ended for the time limit, a lost node or similar, and not requeued.
Outcome left_by_the_supervisor(const RunOutline& plan, const RunDir& run,
                               const JournalDecision& last) {
  Outcome outcome{.status = last.status, .exit_code = exit_code::job_failed};
  outcome.reason = ": " + last.reason;
  if (last.status != RunStatus::cancelled)
    outcome.advice = "run again to resume from the last checkpoint";
  const auto history = read_journal(run).history;
  if (!history.empty() && history.back().cause == Cause::time_limit &&
      history.back().dead.signal != 0)
    outcome.advice = killed_by_the_warning(plan).advice;
  return outcome;
}

/// Slurm's own code, where a signal stands, for a script whose output file cannot be opened.
constexpr int slurm_launch_failure = 53;

/// Adds what the logs of the component tell that the reason names: "component loader: rank 0 ...".
Outcome with_failed_component(const RunOutline& plan, const RunDir& run,
                              const JournalDecision& last, double start_s, Outcome outcome) {
  for (const auto& component : plan.components) {
    if (!last.reason.starts_with(fmt::format("component {}:", component.name))) continue;
    const RunDir own{.path = component_dir(run.path, component.name)};
    add_stacks_of_stall(own, outcome);
    const auto history = read_journal(own).history;
    const auto dead = history.empty() ? DeadRank{} : history.back().dead;
    add_failure_summary(own, dead, start_s, {}, outcome);
    add_stall_and_stacks(own, read_totals(own, start_s), outcome);
  }
  return outcome;
}

Outcome explain_failed(const RunOutline& plan, const RunDir& run, const SlurmJob& job,
                       const RunTotals& totals, const std::string& all_words) {
  const auto last = given_up(run, job);
  if (last && last->status != RunStatus::failed && last->status != RunStatus::out_of_memory)
    return left_by_the_supervisor(plan, run, *last);
  const auto job_words = of_newest_attempt(all_words);
  Outcome outcome{.status = RunStatus::failed, .exit_code = exit_code_of_job(job.exit_code)};
  if (outcome.exit_code == 0) outcome.exit_code = exit_code::job_failed;
  // Of a modular job, the words are of its first component.
  const bool modular = !plan.components.empty() && last;
  auto dead = modular ? std::nullopt : dead_rank_from_srun(job_words);
  if (dead && dead->signal == 9 && tells_of_memory(job_words)) dead->out_of_memory = true;
  if (dead && signal_name(dead->signal) == "SIG" + plan.signal && was_warned(plan, job)) {
    return killed_by_the_warning(plan);
  }
  if (dead) {
    outcome.reason = ": " + describe(*dead);
    if (dead->signal != 0) outcome.exit_code = exit_code::job_failed;
    if (dead->out_of_memory) {
      outcome.status = RunStatus::out_of_memory;
      outcome.advice = verdicts.at("OUT_OF_MEMORY").advice;
    }
  } else if (job.signal == slurm_launch_failure) {
    outcome.reason = fmt::format(
        ": Slurm could not start the script on its node (0:{}), which perhaps does not see {}",
        job.signal, run.path);
    outcome.exit_code = exit_code::job_failed;
    outcome.advice = "start it in a folder that all nodes share";
  } else if (job.signal != 0) {
    outcome.reason =
        fmt::format(" was killed by signal {} ({})", job.signal, signal_name(job.signal));
    outcome.exit_code = exit_code::job_failed;
  } else if (job.reason == "JobLaunchFailure") {
    outcome.reason = fmt::format(": Slurm could not start the script ({})", slurm_log(plan, job));
  } else {
    outcome.reason = fmt::format(" exited with code {}", job.exit_code);
  }
  if (last) outcome.reason = ": " + last->reason;
  const double start_s = unix_seconds_of(job.start).value_or(0);
  if (modular) return with_failed_component(plan, run, *last, start_s, std::move(outcome));
  if (last) add_stacks_of_stall(run, outcome);
  add_failure_summary(run, dead.value_or(DeadRank{}), start_s, {slurm_log(plan, job), job_words},
                      outcome);
  add_stall_and_stacks(run, totals, outcome);
  if (outcome.advice.empty()) outcome.advice = advice_for(outcome.reason);
  return outcome;
}

/// Returns "n1" for "slurmstepd-n1: error: Detected 1 oom-kill event(s)", used if srun names no
/// rank.
std::string node_out_of_memory(std::string_view log) {
  const auto event = log.find("oom-kill event");
  if (event == std::string_view::npos) return "";
  const auto line = log.substr(0, event).rfind('\n');
  auto text = log.substr(line == std::string_view::npos ? 0 : line + 1);
  constexpr std::string_view mark = "slurmstepd-";
  if (!text.starts_with(mark)) return "";
  text.remove_prefix(mark.size());
  return std::string(text.substr(0, text.find(':')));
}

bool waits_for_ever(const SlurmJob& job) {
  return job.reason == "DependencyNeverSatisfied" || job.reason == "Dependency";
}

/// Adds what the state alone does not say: duration, node, rank, who cancelled.
void add_particulars(const RunOutline& plan, const RunDir& run, const SlurmJob& job,
                     const std::string& job_words, Outcome& outcome) {
  const std::string limit = value_of(plan.sbatch, "--time");
  if (job.state == "TIMEOUT") {
    outcome.reason += limit.empty() ? ", the partition's default" : fmt::format(" of {}", limit);
    if (newest_checkpoint(run).empty())
      outcome.advice = !plan.asks_ranks
                           ? "raise resources.time, or let the ranks save in time: recovery: "
                             "{signal: USR2} sends them that signal"
                           : "raise resources.time; there is no checkpoint to resume from";
  }
  if (job.state == "NODE_FAIL") {
    // srun says it, unless it is killed first or was on that node.
    auto node = lost_node_in(job_words);
    if (node.empty()) node = job.lost;
    if (node.empty()) return;
    const bool several = node.find_first_of(",[") != std::string::npos;
    outcome.reason = fmt::format(" lost {} {}", several ? "nodes" : "node", node);
    outcome.advice = fmt::format("run again; resources.exclude: {} avoids the {}", node,
                                 several ? "nodes" : "node");
  }
  if (job.state == "OUT_OF_MEMORY") {
    const auto dead = dead_rank_from_srun(job_words);
    const auto node = node_out_of_memory(job_words);
    if (dead) outcome.reason += ": " + describe(*dead);
    if (!dead && !node.empty()) outcome.reason += " on " + node;
    outcome.log = slurm_log(plan, job);
    outcome.excerpt = log_excerpt(job_words, most_excerpt_lines);
  }
  if (job.state == "CANCELLED" && waits_for_ever(job)) {
    outcome.reason = " never started: a job it had to wait for failed";
    outcome.advice = "run that job again first (`after:` in the job file)";
  } else if (job.state == "CANCELLED" && !job.cancelled_by.empty()) {
    outcome.reason += " by " + job.cancelled_by;
  }
}

/// Of a job that Slurm has forgotten: from the run's events, else, as a command writes none, from
/// its supervisor's last decision.
Outcome judged_by_itself(const RunDir& run, const SlurmJob& job, const RunTotals& totals) {
  if (totals.end_status() == "completed") return {};
  Outcome outcome{.status = RunStatus::failed, .exit_code = exit_code::job_failed};
  const auto decided = totals.ended() ? std::nullopt : read_journal(run).last;
  if (decided && decided->job == job.id && decided->next == Next::stop) {
    if (decided->status == RunStatus::completed) return {};
    return {.status = decided->status,
            .exit_code = decided->exit_code,
            .reason = fmt::format("job {}: {}", job.id, decided->reason)};
  }
  if (totals.end_status() == "cancelled") outcome.status = RunStatus::cancelled;
  outcome.reason =
      totals.ended()
          ? fmt::format("job {} ended as {}", job.id, totals.end_status())
          : fmt::format("Slurm no longer knows job {}, and the run did not record how it ended",
                        job.id);
  return outcome;
}

}  // namespace

RunDir task_dir(const RunDir& run, const std::string& task) {
  return {.path = run.path + "/task-" + task, .resumed = run.resumed};
}

std::string slurm_log(const RunOutline& plan, const SlurmJob& job) {
  if (!job.output.empty()) return job.output;
  const auto pattern = value_of(plan.sbatch, "--output");
  std::string path;
  for (std::size_t i = 0; i < pattern.size(); ++i) {
    const char next = pattern[i] == '%' && i + 1 < pattern.size() ? pattern[++i] : '\0';
    if (next == '\0') {
      path += pattern[i];
    } else if (next == 'j') {
      path += job.id;
    } else if (next == 'A') {
      path += job.array_job;
    } else if (next == 'a') {
      path += job.array_task;
    } else {
      if (next != '%') path += '%';
      path += next;
    }
  }
  return path;
}

namespace {

/// Of the run, or of its components.
void add_who_left(const RunOutline& plan, const RunDir& run, const SlurmJob& job,
                  Outcome& outcome) {
  const double start_s = unix_seconds_of(job.start).value_or(0);
  if (plan.components.empty()) return add_who_left(run, start_s, outcome);
  for (const auto& component : plan.components)
    add_who_left({.path = component_dir(run.path, component.name)}, start_s, outcome);
}

/// From Slurm's record of it. The reason continues a sentence that begins with the job's name: with
/// ": rank 1 ..." or " lost node n2".
Outcome explain_record(const RunOutline& plan, const RunDir& run, const SlurmJob& job,
                       const RunTotals& totals, const std::string& job_words) {
  if (job.state == "COMPLETED")
    return totals.end_status() == "cancelled" ? saved_and_stopped(plan, job) : completed(run, job);
  if (recovered_from_memory(run, job)) return completed(run, job);
  const auto verdict = verdicts.find(job.state);
  if (verdict == verdicts.end()) return explain_failed(plan, run, job, totals, job_words);
  Outcome outcome{.status = verdict->second.status, .exit_code = exit_code::job_failed};
  outcome.reason = fmt::format(" {}", verdict->second.reason);
  outcome.advice = verdict->second.advice;
  add_particulars(plan, run, job, job_words, outcome);
  return outcome;
}

}  // namespace

Outcome explain_slurm(const RunOutline& plan, const RunDir& run, const SlurmJob& job,
                      const RunTotals& totals, const std::string& job_words) {
  if (job.state.empty()) return judged_by_itself(run, job, totals);
  auto outcome = explain_record(plan, run, job, totals, job_words);
  add_who_left(plan, run, job, outcome);
  if (!outcome.reason.empty()) outcome.reason = fmt::format("job {}{}", job.id, outcome.reason);
  return outcome;
}

namespace {

struct EndedTask {
  std::string number;
  Outcome outcome;  // as explain_record()
  int count = 1;    // several that were cancelled together
};

/// "task 3: rank 1 on n2 exited with code 7; first error: ValueError: bad"
std::string line_of(const EndedTask& task) {
  const auto& [number, one, count] = task;
  const auto* colon = one.reason.starts_with(':') ? "" : ":";
  const auto first = one.first_error.empty() ? "" : "; first error: " + one.first_error;
  return fmt::format("task {}{}{}{}", number, colon, one.reason, first);
}

/// One, except of tasks that were cancelled together before they started: "0-7%2", "[0-7]".
int tasks_of(const SlurmJob& record) {
  const auto tasks = parse_array_tasks(record.array_task);
  return tasks ? std::max(1, static_cast<int>(tasks->numbers.size())) : 1;
}

/// Returns the tasks that did not complete, by number.
std::vector<EndedTask> failed_tasks(const RunOutline& plan, const RunDir& run,
                                    const std::string& id, std::vector<SlurmJob> tasks) {
  const auto number_of = [](const SlurmJob& task) { return std::atoi(task.array_task.c_str()); };
  std::sort(tasks.begin(), tasks.end(),
            [&](const SlurmJob& a, const SlurmJob& b) { return number_of(a) < number_of(b); });
  std::vector<EndedTask> failed;
  for (auto& task : tasks) {
    // A task's epochs are in its own directory; Slurm's record is enough here.
    const auto log = file_end(slurm_log(plan, task), most_log_bytes);
    task.id = fmt::format("{}_{}", id, task.array_task);
    const auto dir = task_dir(run, task.array_task);
    auto outcome = task.state.empty() ? judged_by_itself(dir, task, RunTotals())
                                      : explain_record(plan, dir, task, RunTotals(), log);
    add_who_left(plan, dir, task, outcome);
    if (task.state.empty()) outcome.reason.insert(0, ": ");
    if (outcome.status != RunStatus::completed)
      failed.push_back({task.array_task, std::move(outcome), tasks_of(task)});
  }
  return failed;
}

/// In their allocations; nullopt if Slurm does not say it of one.
std::optional<double> seconds_of_all(const std::vector<SlurmJob>& tasks) {
  double seconds = 0;
  for (const auto& task : tasks) {
    const auto own = seconds_between(task.start, task.end);
    if (!own) return std::nullopt;
    seconds += std::max(0.0, *own);
  }
  return seconds;
}

/// Describes the first failed task (preferably not a cancelled one) like a single job, and each
/// other one in a line.
Outcome explain_array(const RunOutline& plan, const RunDir& run, const std::string& id,
                      const std::vector<SlurmJob>& tasks) {
  constexpr std::size_t most_named = 8;
  const auto failed = failed_tasks(plan, run, id, tasks);
  const auto seconds = seconds_of_all(tasks);
  TaskCounts counts;
  int all_failed = 0;
  for (const auto& task : failed) {
    counts[task.outcome.status] += task.count;
    all_failed += task.count;
  }
  int all = 0;
  for (const auto& task : tasks) all += tasks_of(task);
  if (all_failed < all) counts[RunStatus::completed] = all - all_failed;
  if (failed.empty()) return {.tasks = std::move(counts), .task_seconds = seconds};
  auto first = std::find_if(failed.begin(), failed.end(), [](const EndedTask& task) {
    return task.outcome.status != RunStatus::cancelled;
  });
  if (first == failed.end()) first = failed.begin();
  Outcome outcome = first->outcome;
  outcome.tasks = std::move(counts);
  outcome.task_seconds = seconds;
  if (!outcome.first_error.empty())
    outcome.first_error = fmt::format("task {}: {}", first->number, outcome.first_error);
  std::string list;
  for (auto task = failed.begin(); task != failed.end(); ++task) {
    if (static_cast<std::size_t>(task - failed.begin()) == most_named) break;
    list += fmt::format("{}{} ({})", list.empty() ? "" : ", ", task->number,
                        to_string(task->outcome.status));
    if (task != first) outcome.others.push_back(line_of(*task));
  }
  if (failed.size() > most_named) list += fmt::format(" and {} more", failed.size() - most_named);
  outcome.reason = fmt::format("job {}: {} of {} did not complete: {}; job {}_{}{}", id, all_failed,
                               counted(all, "task"), list, id, first->number, outcome.reason);
  return outcome;
}

}  // namespace

Outcome explain_jobs(const RunOutline& plan, const RunDir& run, const std::string& id,
                     const std::vector<SlurmJob>& ended, const RunTotals& totals) {
  if (plan.array && !ended.empty()) return explain_array(plan, run, id, ended);
  SlurmJob job = ended.empty() ? SlurmJob{} : ended.front();
  job.id = id;
  auto outcome =
      explain_slurm(plan, run, job, totals, file_end(slurm_log(plan, job), most_log_bytes));
  outcome.restarts = restarts_in(read_journal(run), id);
  return outcome;
}

std::optional<double> seconds_between(const std::string& from, const std::string& to) {
  const auto begin = unix_seconds_of(from);
  const auto end = unix_seconds_of(to);
  if (!begin || !end) return std::nullopt;
  return *end - *begin;
}

void add_times(const SlurmJob& job, double seconds, Outcome& outcome) {
  const double queued = std::max(0.0, seconds_between(job.submit, job.start).value_or(seconds));
  outcome.queue_seconds = std::min(queued, seconds);
  outcome.seconds = seconds - *outcome.queue_seconds;
  outcome.restarts = std::max(outcome.restarts, job.restarts);
}

}  // namespace dllaunch
