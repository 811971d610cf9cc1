#include "launcher/execute/slurm_outcome.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <ctime>
#include <map>

#include "launcher/failure.hpp"
#include "launcher/verb.hpp"

namespace dllaunch {
namespace {

constexpr std::size_t most_excerpt_lines = 12;

struct Verdict {
  RunStatus status;
  std::string_view words;
};

/// Everything but FAILED and COMPLETED, which need a second look.
const std::map<std::string, Verdict, std::less<>> verdicts = {
    {"TIMEOUT",
     {RunStatus::timeout,
      "reached its time limit; raise resources.time, or run again to go on from the checkpoint"}},
    {"DEADLINE", {RunStatus::timeout, "reached its deadline"}},
    {"OUT_OF_MEMORY",
     {RunStatus::out_of_memory,
      "ran out of memory; lower train.batch_size or ask for more with resources.sbatch_extra: "
      "[--mem=...]"}},
    {"NODE_FAIL", {RunStatus::node_fail, "lost a node; run again, resources.exclude avoids it"}},
    {"BOOT_FAIL", {RunStatus::node_fail, "got a node that did not boot; run again"}},
    {"PREEMPTED", {RunStatus::preempted, "had to make room for another job; run again to go on"}},
    {"CANCELLED", {RunStatus::cancelled, "was cancelled"}},
    {"REVOKED", {RunStatus::cancelled, "was revoked"}},
};

std::optional<std::time_t> parse_time(const std::string& text) {
  std::tm broken{};
  broken.tm_isdst = -1;
  const char* end = strptime(text.c_str(), "%Y-%m-%dT%H:%M:%S", &broken);
  if (end == nullptr) return std::nullopt;
  return std::mktime(&broken);
}

std::string value_of(const std::vector<std::pair<std::string, std::string>>& options,
                     std::string_view name) {
  for (const auto& [option, value] : options) {
    if (option == name) return value;
  }
  return "";
}

std::string now_as_slurm_writes() {
  const std::time_t time = std::time(nullptr);
  std::tm local{};
  localtime_r(&time, &local);
  std::array<char, 32> text{};
  std::strftime(text.data(), text.size(), "%Y-%m-%dT%H:%M:%S", &local);
  return text.data();
}

/// Whether Slurm's "checkpoint now" may have come: grace_seconds before the limit, or up to 60 s
/// earlier.
bool was_warned(const LaunchPlan& plan, const SlurmJob& job) {
  const auto limit = parse_slurm_minutes(value_of(plan.sbatch, "--time"));
  const auto ran = seconds_between(job.start, now_as_slurm_writes());
  return limit && ran && *ran >= *limit * 60 - plan.grace_seconds - 60;
}

/// Asked to stop, the trainer saves and ends well: the job then reads COMPLETED, the training is
/// not.
Outcome saved_and_stopped(const LaunchPlan& plan, const SlurmJob& job) {
  Outcome outcome{.status = RunStatus::cancelled, .exit_code = exit_code::job_failed};
  outcome.reason = fmt::format("job {} was asked to save and stop", job.id);
  if (was_warned(plan, job)) {
    outcome.status = RunStatus::timeout;
    outcome.reason = fmt::format(
        "job {} saved its state and stopped before its time limit; run again to go on", job.id);
  }
  return outcome;
}

/// A command without a handler for the signal dies of it.
Outcome killed_by_the_warning(const LaunchPlan& plan, const SlurmJob& job) {
  return {.status = RunStatus::timeout,
          .exit_code = exit_code::job_failed,
          .reason = fmt::format("job {} was ended by SIG{}, which Slurm sends {} s before the time "
                                "limit and the command does not catch",
                                job.id, plan.signal, plan.grace_seconds)};
}

Outcome explain_failed(const LaunchPlan& plan, const RunDir& run, const SlurmJob& job,
                       const std::string& job_words) {
  Outcome outcome{.status = RunStatus::failed, .exit_code = exit_code_of_job(job.exit_code)};
  if (outcome.exit_code == 0) outcome.exit_code = exit_code::job_failed;
  const std::string log = slurm_log(plan, job);
  const auto dead = dead_rank_from_srun(job_words);
  if (dead && signal_name(dead->signal) == "SIG" + plan.signal && was_warned(plan, job)) {
    return killed_by_the_warning(plan, job);
  }
  if (dead) {
    outcome.reason = fmt::format("job {}: {}", job.id, describe(*dead));
    if (dead->signal != 0) outcome.exit_code = exit_code::job_failed;
    if (dead->out_of_memory) outcome.status = RunStatus::out_of_memory;
    auto excerpt = excerpt_of(run, *dead, most_excerpt_lines);
    if (!excerpt.lines.empty()) {
      outcome.log = std::move(excerpt.path);
      outcome.excerpt = std::move(excerpt.lines);
      return outcome;
    }
  } else if (job.signal != 0) {
    outcome.reason = fmt::format("job {} was killed by signal {} ({})", job.id, job.signal,
                                 signal_name(job.signal));
    outcome.exit_code = exit_code::job_failed;
  } else if (job.reason == "JobLaunchFailure") {
    outcome.reason = fmt::format("job {}: Slurm could not start the script ({})", job.id, log);
  } else {
    outcome.reason = fmt::format("job {} exited with code {}", job.id, job.exit_code);
  }
  outcome.log = log;
  outcome.excerpt = log_excerpt(job_words, most_excerpt_lines);
  return outcome;
}

Outcome judged_by_itself(const SlurmJob& job, const RunLedger& ledger) {
  if (ledger.end_status() == "completed") return {};
  Outcome outcome{.status = RunStatus::failed, .exit_code = exit_code::job_failed};
  if (ledger.end_status() == "cancelled") outcome.status = RunStatus::cancelled;
  outcome.reason = ledger.ended()
                       ? fmt::format("job {} ended as {}", job.id, ledger.end_status())
                       : fmt::format("Slurm has forgotten job {}, and it wrote no end", job.id);
  return outcome;
}

}  // namespace

std::string slurm_log(const LaunchPlan& plan, const SlurmJob& job) {
  if (!job.output.empty()) return job.output;
  std::string path = value_of(plan.sbatch, "--output");
  const auto at = path.find("%j");
  if (at != std::string::npos) path.replace(at, 2, job.id);
  return path;
}

Outcome explain_slurm(const LaunchPlan& plan, const RunDir& run, const SlurmJob& job,
                      const RunLedger& ledger, const std::string& job_words) {
  if (job.state.empty()) return judged_by_itself(job, ledger);
  if (job.state == "COMPLETED") {
    return ledger.end_status() == "cancelled" ? saved_and_stopped(plan, job) : Outcome{};
  }
  const auto verdict = verdicts.find(job.state);
  if (verdict == verdicts.end()) return explain_failed(plan, run, job, job_words);
  Outcome outcome{.status = verdict->second.status, .exit_code = exit_code::job_failed};
  outcome.reason = fmt::format("job {} {}", job.id, verdict->second.words);
  if (outcome.status == RunStatus::out_of_memory) {
    outcome.log = slurm_log(plan, job);
    outcome.excerpt = log_excerpt(job_words, most_excerpt_lines);
  }
  return outcome;
}

std::optional<double> seconds_between(const std::string& from, const std::string& to) {
  const auto begin = parse_time(from);
  const auto end = parse_time(to);
  if (!begin || !end) return std::nullopt;
  return std::difftime(*end, *begin);
}

void add_times(const SlurmJob& job, double seconds, Outcome& outcome) {
  const double queued = std::max(0.0, seconds_between(job.submit, job.start).value_or(seconds));
  outcome.queue_seconds = std::min(queued, seconds);
  outcome.seconds = seconds - *outcome.queue_seconds;
  outcome.restarts = job.restarts;
}

}  // namespace dllaunch
