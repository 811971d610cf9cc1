#include "launcher/job/load_job.hpp"

#include <fmt/core.h>

#include <optional>
#include <string_view>

#include "launcher/base/shell_quote.hpp"
#include "launcher/base/utf8.hpp"
#include "launcher/job/expand_tilde.hpp"
#include "launcher/job/job_file.hpp"

namespace dllaunch {
namespace {

/// What a program or a batch script is instead of a job file; nullopt: it may be one.
std::optional<Error> error_of_another_kind(const std::string& path, std::string_view text) {
  if (is_sbatch_script(text))
    return Error{ErrorKind::bad_request, path + " is an sbatch script, not a job file",
                 "dllaunch init --from " + shell_quote(path)};
  if (path.ends_with(".py"))
    return Error{ErrorKind::bad_request, path + " is a Python program, not a job file",
                 "dllaunch init --script " + shell_quote(path)};
  return std::nullopt;
}

}  // namespace

bool is_sbatch_script(std::string_view text) {
  return text.starts_with("#!") && text.find("\n#SBATCH") != std::string_view::npos;
}

Result<Job> load_job(System& system, const std::string& path, std::span<const std::string> sets) {
  auto job = load_any_job(system, path, sets);
  if (!job || job->components.empty()) return job;
  return Error{
      ErrorKind::bad_request,
      fmt::format("{} is a modular job (components:), which this command does not take", path),
      "dllaunch run, plan, script and validate take it"};
}

std::optional<Job> modular_job(System& system, const std::string& path,
                               std::span<const std::string> sets) {
  const auto text = system.read_file(path);
  const auto parsed = text ? parse_job(*text, path, sets) : ParsedJob{};
  if (!parsed.job || parsed.job->components.empty()) return std::nullopt;
  auto job = load_any_job(system, path, sets);
  return job ? std::optional(*std::move(job)) : std::nullopt;
}

Result<Job> load_any_job(System& system, const std::string& path,
                         std::span<const std::string> sets) {
  auto text = system.read_file(path);
  if (!text) {
    // A missing job file is a mistake in the command, not a missing resource.
    return Error{ErrorKind::bad_request, text.error().what, "give the path of a job file"};
  }
  if (auto other = error_of_another_kind(path, *text)) return *std::move(other);
  auto parsed = parse_job(*text, path, sets);
  for (const Diagnostic& note : parsed.notes) {
    system.log(fmt::format("{}:{}:{}: note: {}\n", note.file, note.line, note.column,
                           printable(note.message)));
  }
  if (parsed.job) {
    const auto home = system.environment("HOME");
    if (!home || home->empty()) return *std::move(parsed.job);
    for (auto& part : parsed.job->components) part.job = expand_tilde(std::move(part.job), *home);
    return expand_tilde(*std::move(parsed.job), *home);
  }
  system.log(render(parsed.problems, system.console().color_err));
  const std::size_t count = parsed.problems.size();
  return Error{
      ErrorKind::bad_request, fmt::format("{} has {} error{}", path, count, count == 1 ? "" : "s"),
      parsed.unknown_keys
          ? "`dllaunch help job-file` shows the top keys, `dllaunch schema --markdown` all of them"
          : ""};
}

}  // namespace dllaunch
