#include "launcher/launch/submission.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <random>
#include <thread>

#include "launcher/os/atomic_file.hpp"
#include "launcher/os/stored_json.hpp"
#include "launcher/run/kept_files.hpp"
#include "launcher/slurm/option_overrides.hpp"
#include "launcher/slurm/scontrol_parser.hpp"
#include "support/json_fields.hpp"

namespace dllaunch {
namespace {

/// Returns a job of the script newer than `judged`, for sites that remove comments.
std::optional<std::string> id_of_script(const std::vector<JobWords>& jobs,
                                        const std::string& script, const std::string& judged) {
  for (const auto& [id, words] : jobs) {
    const bool newer = id.size() != judged.size() ? id.size() > judged.size() : id > judged;
    if (newer && words.ends_with("|" + script)) return id;
  }
  return std::nullopt;
}

}  // namespace

std::string option_value(const std::vector<std::string>& options, std::string_view name) {
  std::string value;
  for (const auto& line : options) {
    const auto option = option_of_line(line);
    if (option && option->first == name) value = option->second;
  }
  return value;
}

std::string comment_option(const std::string& comment, const std::string& token) {
  return "--comment=" + comment + (comment.empty() ? "" : " ") + token;
}

std::optional<std::string> job_with_token(const std::vector<JobWords>& jobs,
                                          const std::string& token) {
  const auto found = std::ranges::find_if(
      jobs, [&](const JobWords& job) { return job.words.find(token) != std::string::npos; });
  return found == jobs.end() ? std::nullopt : std::optional(found->id);
}

std::string new_token() {
  std::random_device source;
  const auto number = (std::uint64_t{source()} << 32U) | source();
  return fmt::format("dllaunch:{:016x}", number);
}

Result<std::optional<std::string>> find_submitted(System& system, const SubmissionIntent& intent) {
  constexpr double clocks_differ_s = 7200;
  auto queue = own_jobs(system, /*ended=*/true);
  if (!queue) return std::move(queue).error();
  if (auto id = job_with_token(*queue, intent.token)) return id;
  if (auto id = id_of_script(*queue, intent.script, intent.judged)) return id;
  // Jobs that ended longer ago than MinJobAge are known to accounting only.
  auto recorded = own_recorded_jobs(system, intent.intended_s - clocks_differ_s);
  if (!recorded) return std::move(recorded).error();
  return job_with_token(*recorded, intent.token);
}

namespace {

std::string intent_path(const RunDir& run) {
  return run.path + "/job.intent";
}

}  // namespace

Result<Ok> keep_intent(const RunDir& run, const SubmissionIntent& intent) {
  const Json record = {
      {"token", intent.token}, {"judged", intent.judged}, {"intended", intent.intended_s}};
  auto kept = write_file(intent_path(run), json_text(record));
  // Syncs what the job reads too: plan.json, job.sbatch.
  return kept ? sync_folder(run.path) : kept;
}

void forget_intent(const RunDir& run) {
  std::error_code ignored;
  std::filesystem::remove(intent_path(run), ignored);
}

std::optional<SubmissionIntent> open_intent(System& system, const RunDir& run) {
  constexpr std::size_t most_bytes = 65536;
  const auto text = read_run_file(system, intent_path(run), most_bytes);
  const auto record = text ? json_object_in(*text) : Json();
  if (!record.is_object()) return std::nullopt;
  SubmissionIntent intent{.token = token_in(value_at<std::string>(record, "token")),
                          .script = submitted_script(system, run),
                          .judged = value_at<std::string>(record, "judged")};
  intent.intended_s = value_at(record, "intended", intent.intended_s);
  return intent.token.empty() ? std::nullopt : std::optional(std::move(intent));
}

Result<std::optional<std::string>> settle_intent(System& system, const SubmissionIntent& intent,
                                                 std::chrono::milliseconds settle) {
  auto found = find_submitted(system, intent);
  if (!found || *found) return found;
  // A controller that hung may answer a query before it processes a pending submission.
  std::this_thread::sleep_for(settle);
  return find_submitted(system, intent);
}

}  // namespace dllaunch
