#include "launcher/slurm/slurm_job.hpp"

#include <fmt/core.h>
#include <pwd.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cstdlib>

#include "launcher/slurm/sbatch_variables.hpp"
#include "launcher/slurm/slurm_json.hpp"
#include "launcher/slurm/slurm_messages.hpp"

namespace dllaunch {
namespace {

using std::chrono::seconds;

constexpr seconds submit_limit(60);
constexpr seconds query_limit(20);

std::vector<std::string> split(const std::string& text, char separator) {
  std::vector<std::string> parts;
  for (std::size_t begin = 0; begin <= text.size();) {
    const auto end = std::min(text.find(separator, begin), text.size());
    parts.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return parts;
}

/// The non-empty lines of a command's output, joined into one.
std::string message_of(const CommandOutput& output) {
  std::string message;
  for (const auto& line : split(output.err.empty() ? output.out : output.err, '\n')) {
    if (line.find_first_not_of(" \t\r") == std::string::npos) continue;
    message += (message.empty() ? "" : "; ") + line;
  }
  return message.empty() ? fmt::format("exit code {}", output.exit_code) : message.substr(0, 1000);
}

Result<Ok> run_quietly(System& system, const std::vector<std::string>& argv) {
  auto output = system.run(argv, query_limit);
  if (!output) return std::move(output).error();
  if (output->exit_code == 0) return Ok{};
  return Error{ErrorKind::unavailable, fmt::format("{}: {}", argv[0], message_of(*output)), ""};
}

/// "1000" -> "alice"; the uid if it has no name here.
std::string user_name(const std::string& uid) {
  constexpr std::size_t most_bytes = 16384;
  std::vector<char> room(most_bytes);
  passwd entry{};
  passwd* found = nullptr;
  const auto number = static_cast<uid_t>(std::strtoul(uid.c_str(), nullptr, 10));
  getpwuid_r(number, &entry, room.data(), room.size(), &found);
  return found != nullptr ? std::string(found->pw_name) : "uid " + uid;
}

SlurmJob job_of_fields(const std::vector<std::string>& fields) {
  SlurmJob job;
  job.id = fields[0];
  if (const auto underscore = job.id.find('_'); underscore != std::string::npos) {
    job.array_job = job.id.substr(0, underscore);
    job.array_task = job.id.substr(underscore + 1);
  }
  // "CANCELLED by 1000"
  constexpr std::string_view by = " by ";
  job.state = fields[1].substr(0, fields[1].find(' '));
  if (const auto at = fields[1].find(by); at != std::string::npos)
    job.cancelled_by = user_name(fields[1].substr(at + by.size()));
  const auto codes = split(fields[2], ':');
  job.exit_code = std::atoi(codes[0].c_str());
  job.signal = codes.size() > 1 ? std::atoi(codes[1].c_str()) : 0;
  job.submit = fields[3];
  const auto known = [](const std::string& time) {
    return time == "Unknown" || time == "None" ? std::string() : time;
  };
  job.start = known(fields[4]);
  job.end = known(fields[5]);
  // Accounting does not record the script; use the name.
  if (fields.size() > 6 && !fields[6].empty()) job.origin.words = "|" + fields[6] + "|";
  return job;
}

/// Whether the query failed, other than by an answer that the job is unknown.
bool is_silence(const Result<CommandOutput>& output, bool (*knows_nothing)(std::string_view)) {
  if (!output) return output.error().kind == ErrorKind::timeout;
  return output->exit_code != 0 && !knows_nothing(output->err);
}

/// A requeued job has several records; the last one is final. Sets `silent` if accounting did not
/// answer.
std::vector<SlurmJob> jobs_from_accounting(System& system, const std::string& id, bool& silent) {
  const auto output =
      system.run({"sacct", "--allocations", "--noheader", "--parsable2", "--jobs=" + id,
                  "--format=JobID,State,ExitCode,Submit,Start,End,JobName"},
                 query_limit);
  std::vector<SlurmJob> found;
  silent = silent || is_silence(output, has_no_accounting);
  if (!output || output->exit_code != 0) return found;
  for (const auto& line : split(output->out, '\n')) {
    const auto fields = split(line, '|');
    if (fields.size() < 6 || (fields[0] != id && !fields[0].starts_with(id + "_"))) continue;
    auto job = job_of_fields(fields);
    std::erase_if(found, [&](const SlurmJob& earlier) { return earlier.id == job.id; });
    found.push_back(std::move(job));
  }
  return found;
}

/// scontrol does not say who cancelled a job.
void add_cancellers(System& system, const std::string& id, std::vector<SlurmJob>& jobs) {
  const bool asks = std::any_of(jobs.begin(), jobs.end(),
                                [](const SlurmJob& job) { return job.state == "CANCELLED"; });
  if (!asks || !system.find_program("sacct")) return;
  bool silent = false;
  for (const auto& recorded : jobs_from_accounting(system, id, silent)) {
    for (auto& job : jobs) {
      const bool same = job.array_task == recorded.array_task;
      if (same && job.state == "CANCELLED") job.cancelled_by = recorded.cancelled_by;
    }
  }
}

}  // namespace

std::optional<std::string> job_id_in(std::string_view text) {
  std::optional<std::string> id;
  for (auto line : split(std::string(text), '\n')) {
    constexpr std::string_view sentence = "Submitted batch job ";
    if (line.starts_with(sentence)) line.erase(0, sentence.size());
    const auto digits = std::min(line.find_first_not_of("0123456789"), line.size());
    const std::string rest = line.substr(digits);
    // A wrapper's "2 jobs in your queue" is not an id.
    if (digits == 0 || (!rest.empty() && rest[0] != ';' && rest[0] != '\r')) continue;
    id = line.substr(0, digits);
  }
  return id;
}

TestedSubmission test_submission(System& system, const std::vector<std::string>& options) {
  auto argv = sbatch_without(overriding(options, sbatch_variables(system)));
  argv.emplace_back("--test-only");
  argv.insert(argv.end(), options.begin(), options.end());
  argv.emplace_back("--wrap=true");
  auto output = system.run(argv, submit_limit);
  if (!output) return {.refusal = std::move(output).error()};
  auto message = message_of(*output);
  if (output->exit_code == 0) return {.message = std::move(message)};
  Error refusal{is_option_error(message) ? ErrorKind::bad_request : ErrorKind::unavailable,
                "sbatch refused the job: " + message,
                "nothing was submitted; dllaunch script shows what would be"};
  return {.refusal = std::move(refusal), .message = std::move(message)};
}

Submitted submit_job(System& system, const std::string& script,
                     const std::vector<std::string>& more) {
  const auto text = system.read_file(script);
  const auto options = text ? options_of_script(*text) : std::vector<std::string>();
  auto argv = sbatch_without(overriding(options, sbatch_variables(system)));
  argv.emplace_back("--parsable");
  argv.insert(argv.end(), more.begin(), more.end());
  argv.push_back(script);
  auto output = system.run(argv, submit_limit);
  if (!output) {
    auto error = std::move(output).error();
    const bool began = error.kind != ErrorKind::unavailable;
    if (error.kind == ErrorKind::timeout) error.hint = "look with squeue --me: it may be queued";
    return {.id = std::move(error), .refused = !began};
  }
  if (output->exit_code != 0) {
    const std::string message = message_of(*output);
    const bool bad_option = is_option_error(message);
    return {.id = Error{bad_option ? ErrorKind::bad_request : ErrorKind::unavailable,
                        "sbatch refused the job: " + message,
                        "dllaunch script shows what was submitted"},
            .refused = bad_option || is_refusal_of_controller(message)};
  }
  if (auto id = job_id_in(output->out)) return {.id = *std::move(id)};
  return {.id =
              Error{ErrorKind::unavailable, "sbatch named no job id: " + message_of(*output), ""}};
}

namespace {

/// Slurm 22.05 lists all users' jobs in JSON, whatever the filter.
Result<std::vector<QueuedJob>> queued_in_json(System& system, const std::string& id) {
  std::vector<QueuedJob> jobs;
  const auto output =
      system.run({"squeue", "--json", id.empty() ? "--me" : "--jobs=" + id}, query_limit);
  if (!output || output->exit_code != 0) return jobs;
  for (const auto& job : parse_slurm_json(output->out).jobs) {
    const auto number = job.id.substr(0, job.id.find('_'));
    if (!id.empty() && number != id.substr(0, id.find('_'))) continue;
    if (!is_final_state(job.state)) jobs.push_back(as_queued(job));
  }
  return jobs;
}

}  // namespace

Result<std::vector<QueuedJob>> queued_jobs(System& system, const std::string& id) {
  auto output = system.run({"squeue", "--noheader", "--format=" + std::string(queue_format),
                            id.empty() ? "--me" : "--jobs=" + id},
                           query_limit);
  if (!output) return std::move(output).error();
  if (output->exit_code != 0) {
    // squeue reports an unknown job as an error; here it is an empty answer.
    if (is_unknown_job(output->err)) return std::vector<QueuedJob>();
    return Error{ErrorKind::unavailable, message_of(*output), ""};
  }
  auto jobs = parse_queue(output->out);
  // Text without any job: this squeue does not follow the format. JSON does not depend on it.
  if (jobs.empty() && output->out.find_first_not_of(" \t\r\n") != std::string::npos)
    return queued_in_json(system, id);
  return jobs;
}

Result<std::optional<QueuedJob>> queued_job(System& system, const std::string& id) {
  auto jobs = queued_jobs(system, id);
  if (!jobs) return std::move(jobs).error();
  if (jobs->empty()) return std::optional<QueuedJob>();
  return std::optional<QueuedJob>(std::move(jobs->front()));
}

std::vector<SlurmJob> finished_jobs(System& system, const std::string& id, bool* silent) {
  const auto output = system.run({"scontrol", "show", "job", id}, query_limit);
  if (output && output->exit_code == 0) {
    auto jobs = parse_slurm_jobs(output->out);
    add_cancellers(system, id, jobs);
    if (!jobs.empty()) return jobs;
  }
  bool unheard = is_silence(output, is_unknown_job);
  auto jobs = jobs_from_accounting(system, id, unheard);
  if (silent != nullptr) *silent = jobs.empty() && unheard;
  if (!jobs.empty()) return jobs;
  // If sacct's text cannot be parsed, its JSON may still be.
  const auto json = system.run({"sacct", "--json", "--jobs=" + id}, query_limit);
  if (!json || json->exit_code != 0) return jobs;
  for (auto& job : parse_slurm_json(json->out).jobs)
    if (job.id.substr(0, job.id.find('_')) == id) jobs.push_back(std::move(job));
  return jobs;
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

std::optional<SlurmJob> finished_job(System& system, const JobIdentity& ours) {
  auto job = finished_job(system, ours.id);
  return job && is_same_job(ours, *job) ? job : std::nullopt;
}

Result<Ok> signal_script(System& system, const std::string& id, const std::string& signal) {
  return run_quietly(system, {"scancel", "--batch", "--signal=" + signal, id});
}

Result<Ok> cancel_job(System& system, const std::string& id) {
  return run_quietly(system, {"scancel", id});
}

bool is_waiting_state(std::string_view state) {
  constexpr std::array<std::string_view, 7> words = {"PENDING",      "CONFIGURING", "REQUEUED",
                                                     "REQUEUE_HOLD", "REQUEUE_FED", "SPECIAL_EXIT",
                                                     "RESV_DEL_HOLD"};
  return std::find(words.begin(), words.end(), state) != words.end();
}

bool is_final_state(std::string_view state) {
  constexpr std::array<std::string_view, 11> words = {
      "COMPLETED", "FAILED",   "TIMEOUT",       "CANCELLED", "NODE_FAIL",    "PREEMPTED",
      "BOOT_FAIL", "DEADLINE", "OUT_OF_MEMORY", "REVOKED",   "LAUNCH_FAILED"};
  return std::find(words.begin(), words.end(), state) != words.end();
}

}  // namespace dllaunch
