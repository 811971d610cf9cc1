#include "launcher/run/submit_folder.hpp"

#include <fmt/core.h>

#include <cstdlib>
#include <filesystem>
#include <string_view>

#include "launcher/base/shell_quote.hpp"
#include "launcher/os/stored_json.hpp"
#include "launcher/run/kept_files.hpp"
#include "launcher/run/run_dir.hpp"
#include "support/json_fields.hpp"

namespace dllaunch {
namespace {

namespace fs = std::filesystem;

/// Returns the folder that a batch script enters in its line "cd -- DIR || exit 3"; empty: no such
/// line, or a name in $'...'.
std::string folder_of_script(std::string_view script) {
  constexpr std::string_view mark = "\ncd -- ";
  const auto at = script.find(mark);
  if (at == std::string_view::npos) return "";
  std::string word;
  bool quoted = false;
  for (auto i = at + mark.size(); i < script.size(); ++i) {
    const char c = script[i];
    if (!quoted && (c == '$' || c == '\n')) return "";
    if (!quoted && c == ' ') break;
    if (c == '\'') {
      quoted = !quoted;
    } else if (!quoted && c == '\\' && i + 1 < script.size()) {
      word += script[++i];
    } else {
      word += c;
    }
  }
  return !quoted && word.starts_with('/') ? word : "";
}

/// Where a project lies now that was moved or copied together with its runs. `before`: the run's
/// directory when it was submitted.
std::string moved_along(const std::string& folder, const std::string& before,
                        const std::string& dir) {
  std::error_code error;
  const auto now = fs::weakly_canonical(dir, error).string();
  if (error || now == before || !before.starts_with(folder + "/")) return folder;
  const auto below = before.substr(folder.size());
  if (!now.ends_with(below)) return folder;
  auto moved = now.substr(0, now.size() - below.size());
  return fs::is_directory(moved, error) ? moved : folder;
}

/// plan.json of an older version does not have it; the script always did.
std::optional<std::string> folder_of_run(System& system, const std::string& dir) {
  constexpr std::size_t most_bytes = std::size_t{16} << 20;
  const auto files = executed_files(system, {.path = dir}, /*make=*/false);
  if (!files) return std::nullopt;
  const auto& run = *files;
  const auto text = read_run_file(system, run.plan_json(), most_bytes);
  const auto plan = text ? json_object_in(*text) : Json();
  auto folder = value_at<std::string>(plan, "work_dir");
  // JSON is UTF-8, and replaces what is not: the script has every byte.
  if (folder.find("\xef\xbf\xbd") != std::string::npos) folder.clear();
  const auto script = folder.empty() ? system.read_file(run.sbatch_script()) : std::string();
  if (folder.empty() && script) folder = folder_of_script(*script);
  if (!folder.starts_with('/')) return std::nullopt;
  return moved_along(folder, value_at<std::string>(plan, "run_dir"), dir);
}

std::string absolute_path(const std::string& path) {
  std::error_code error;
  auto absolute = fs::absolute(path, error).lexically_normal().string();
  while (absolute.size() > 1 && absolute.ends_with('/')) absolute.pop_back();
  return error || path.empty() ? path : absolute;
}

}  // namespace

std::optional<std::string> submit_folder(System& system, const std::string& dir) {
  if (auto folder = folder_of_run(system, dir)) return folder;
  std::error_code error;
  // Elsewhere the folder holds runs of their own, perhaps of another project.
  if (!fs::exists(dir + "/sweep.json", error) && !fs::exists(dir + "/study.json", error))
    return std::nullopt;
  for (fs::directory_iterator at(dir, error), end; !error && at != end; at.increment(error))
    if (auto folder = folder_of_run(system, at->path().string())) return folder;
  return std::nullopt;
}

Result<Ok> enter_submit_folder(System& system, std::string& dir, std::string& job_file) {
  const auto folder = dir.empty() ? std::nullopt : submit_folder(system, dir);
  std::error_code error;
  if (!folder || fs::current_path(error) == fs::path(*folder)) return Ok{};
  auto absolute_dir = absolute_path(dir);
  auto absolute_file = absolute_path(job_file);
  error.clear();
  fs::current_path(*folder, error);
  const auto files = executed_files(system, {.path = absolute_dir}, /*make=*/false);
  const auto from = fs::path(absolute_file).parent_path().string();
  if (error && from != absolute_dir && !(files && from == files->path)) {
    system.log(
        fmt::format("dllaunch: warning: {}, where {} was submitted: {}; it continues here, with "
                    "{}\n",
                    *folder, absolute_dir, error.message(), absolute_file));
    return Ok{};
  }
  if (error)
    return Error{ErrorKind::bad_request,
                 fmt::format("{} continues in {}, where it was submitted: {}", absolute_dir,
                             *folder, error.message()),
                 fmt::format("bring that folder back; or, in the folder that has the job's files "
                             "now: dllaunch run JOB.yaml --run-dir {}",
                             shell_quote(absolute_dir))};
  // Programs that ask the environment instead of the kernel.
  setenv("PWD", folder->c_str(), /*overwrite=*/1);
  dir = std::move(absolute_dir);
  job_file = std::move(absolute_file);
  system.log(fmt::format("dllaunch: in {}, where it was submitted\n", *folder));
  return Ok{};
}

}  // namespace dllaunch
