#include "launcher/launch/submission.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <ctime>
#include <filesystem>
#include <random>
#include <thread>

#include "launcher/os/atomic_file.hpp"
#include "launcher/os/stored_json.hpp"
#include "launcher/slurm/option_overrides.hpp"
#include "launcher/slurm/scontrol_parser.hpp"
#include "launcher/slurm/slurm_messages.hpp"
#include "support/json_fields.hpp"

namespace dllaunch {
namespace {

constexpr std::chrono::seconds query_limit(20);

/// Returns the first field of the first matching line if it is a job id.
template <typename Right>
std::optional<std::string> first_id(std::string_view text, Right right) {
  while (!text.empty()) {
    const auto line = text.substr(0, text.find('\n'));
    const auto id = line.substr(0, std::min(line.find('|'), line.find('_')));
    const bool number = !id.empty() && id.find_first_not_of("0123456789") == std::string_view::npos;
    if (number && right(line, id)) return std::string(id);
    text.remove_prefix(std::min(line.size() + 1, text.size()));
  }
  return std::nullopt;
}

/// Returns a job of the script newer than `judged`, for sites that remove comments.
std::optional<std::string> id_of_script(std::string_view text, const std::string& script,
                                        const std::string& judged) {
  return first_id(text, [&](std::string_view line, std::string_view id) {
    const bool newer = id.size() != judged.size() ? id.size() > judged.size() : id > judged;
    return newer && line.ends_with("|" + script);
  });
}

std::string slurm_time(double unix_s) {
  const auto seconds = static_cast<std::time_t>(unix_s);
  std::tm local{};
  localtime_r(&seconds, &local);
  std::array<char, 32> message{};
  std::strftime(message.data(), message.size(), "%Y-%m-%dT%H:%M:%S", &local);
  return message.data();
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

std::optional<std::string> job_with_token(std::string_view text, const std::string& token) {
  return first_id(text, [&](std::string_view line, std::string_view) {
    return line.find(token) != std::string_view::npos;
  });
}

std::string new_token() {
  std::random_device source;
  const auto number = (std::uint64_t{source()} << 32U) | source();
  return fmt::format("dllaunch:{:016x}", number);
}

Result<std::optional<std::string>> find_submitted(System& system, const SubmissionIntent& intent) {
  auto queue = system.run({"squeue", "--me", "--noheader", "--states=all", "--format=%i|%k|%o"},
                          query_limit);
  if (!queue) return std::move(queue).error();
  if (queue->exit_code != 0)
    return Error{ErrorKind::unavailable, "squeue: " + queue->err.substr(0, 1000), ""};
  if (auto id = job_with_token(queue->out, intent.token)) return id;
  if (auto id = id_of_script(queue->out, intent.script, intent.judged)) return id;
  // Jobs that ended longer ago than MinJobAge are known to accounting only.
  if (!system.find_program("sacct")) return std::optional<std::string>();
  auto record = system.run(
      {"sacct", "--allocations", "--noheader", "--parsable2",
       "--starttime=" + slurm_time(intent.intended_s - 7200), "--format=JobID,SubmitLine"},
      query_limit);
  if (!record) return std::move(record).error();
  if (record->exit_code == 0) return job_with_token(record->out, intent.token);
  // Without accounting or stored command lines, this is an answer.
  if (has_no_accounting(record->err) || has_no_submit_lines(record->err))
    return std::optional<std::string>();
  return Error{ErrorKind::unavailable, "sacct: " + record->err.substr(0, 1000), ""};
}

namespace {

std::string intent_path(const RunDir& run) {
  return run.path + "/job.intent";
}

}  // namespace

Result<Ok> keep_intent(const RunDir& run, const SubmissionIntent& intent) {
  const Json record = {
      {"token", intent.token}, {"judged", intent.judged}, {"intended", intent.intended_s}};
  auto kept = write_file(intent_path(run), record.dump(2) + "\n");
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
                          .script = run.sbatch_script(),
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
