#include "launcher/slurm/slurm_job.hpp"

#include <algorithm>

#include "launcher/base/split.hpp"
#include "launcher/slurm/input_variables.hpp"
#include "launcher/slurm/plain_query.hpp"
#include "launcher/slurm/refusals.hpp"
#include "launcher/slurm/slurm_messages.hpp"

namespace dllaunch {
namespace {

using std::chrono::seconds;

constexpr seconds submit_limit(60);

/// scontrol does not say who cancelled a job.
void add_cancellers(System& system, const std::string& id, std::vector<SlurmJob>& jobs) {
  const bool asks =
      std::ranges::any_of(jobs, [](const SlurmJob& job) { return job.state == "CANCELLED"; });
  if (!asks || !system.find_program("sacct")) return;
  for (const auto& recorded : jobs_of_accounting(system, id).jobs) {
    for (auto& job : jobs) {
      const bool same = job.array_task == recorded.array_task;
      if (same && job.state == "CANCELLED") job.cancelled_by = recorded.cancelled_by;
    }
  }
}

}  // namespace

std::optional<std::string> job_id_in(std::string_view text) {
  std::optional<std::string> id;
  for (auto line : split_lines(text)) {
    constexpr std::string_view sentence = "Submitted batch job ";
    if (line.starts_with(sentence)) line.remove_prefix(sentence.size());
    const auto digits = std::min(line.find_first_not_of("0123456789"), line.size());
    const auto rest = line.substr(digits);
    // A wrapper's "2 jobs in your queue" is not an id.
    if (digits == 0 || (!rest.empty() && rest[0] != ';' && rest[0] != '\r')) continue;
    id = std::string(line.substr(0, digits));
  }
  return id;
}

TestedSubmission test_submission(System& system, const std::vector<std::string>& options,
                                 std::chrono::milliseconds limit) {
  auto argv = plain_query(system, sbatch_command(options, sbatch_variables(system)));
  argv.emplace_back("--test-only");
  argv.insert(argv.end(), options.begin(), options.end());
  argv.emplace_back("--wrap=true");
  auto output = system.run(argv, limit);
  if (!output) return {.refusal = std::move(output).error()};
  auto message = message_of(*output);
  if (output->exit_code == 0) return {.message = std::move(message)};
  Error refusal{
      is_option_error(message) ? ErrorKind::bad_request : ErrorKind::unavailable,
      "sbatch refused the job: " + message,
      next_step(message, "nothing was submitted; `dllaunch script JOB.yaml` shows the script")};
  return {.refusal = std::move(refusal), .message = std::move(message)};
}

Submitted submit_job(System& system, const std::string& script,
                     const std::vector<std::string>& more) {
  const auto text = system.read_file(script);
  const auto options = text ? options_of_script(*text) : std::vector<std::string>();
  auto argv = sbatch_command(options, sbatch_variables(system));
  argv.emplace_back("--parsable");
  argv.insert(argv.end(), more.begin(), more.end());
  argv.push_back(script);
  auto output = system.run(argv, submit_limit);
  if (!output) {
    auto error = std::move(output).error();
    const bool began = error.kind != ErrorKind::unavailable;
    if (error.kind == ErrorKind::timeout)
      error.hint = "check with `squeue --me` whether the job is queued";
    return {.id = std::move(error), .refused = !began};
  }
  if (output->exit_code != 0) {
    const std::string message = message_of(*output);
    const bool bad_option = is_option_error(message);
    return {.id = Error{bad_option ? ErrorKind::bad_request : ErrorKind::unavailable,
                        "sbatch refused the job: " + message,
                        next_step(message, "`dllaunch script JOB.yaml` shows what was submitted")},
            .refused = bad_option || is_refusal_of_controller(message)};
  }
  if (auto id = job_id_in(output->out)) return {.id = *std::move(id)};
  return {
      .id = Error{ErrorKind::unavailable, "sbatch printed no job id: " + message_of(*output), ""}};
}

std::vector<SlurmJob> finished_jobs(System& system, const std::string& id, bool* silent) {
  auto known = jobs_of_controller(system, id);
  add_cancellers(system, id, known.jobs);
  if (!known.jobs.empty()) return std::move(known.jobs);
  auto recorded = jobs_of_accounting(system, id);
  if (silent != nullptr) *silent = recorded.jobs.empty() && (known.silent || recorded.silent);
  return std::move(recorded.jobs);
}

std::vector<SlurmJob> finished_jobs(System& system, const JobIdentity& ours, bool* silent) {
  auto jobs = finished_jobs(system, ours.id, silent);
  std::erase_if(jobs, [&](const SlurmJob& job) { return !is_same_job(ours, job); });
  return jobs;
}

std::optional<SlurmJob> finished_job(System& system, const std::string& id) {
  auto jobs = finished_jobs(system, id);
  if (jobs.empty()) return std::nullopt;
  return std::move(jobs.front());
}

}  // namespace dllaunch
