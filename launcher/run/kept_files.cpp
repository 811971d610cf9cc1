#include "launcher/run/kept_files.hpp"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "launcher/base/shell_quote.hpp"
#include "launcher/os/atomic_file.hpp"
#include "launcher/os/stored_json.hpp"
#include "launcher/run/run_index.hpp"
#include "support/held_folder.hpp"
#include "support/random.hpp"

namespace dllaunch {
namespace {

namespace fs = std::filesystem;

std::string name_of(const std::string& run_dir) {
  std::error_code error;
  const auto real = fs::weakly_canonical(run_dir, error);
  return fmt::format("{:016x}", stable_hash(error ? run_dir : real.string()));
}

/// Those of a component lie among its whole's.
std::string folder_in(const std::string& state, const std::string& run_dir) {
  const auto whole = whole_of(run_dir);
  return fmt::format("{}/kept/{}{}", state, name_of(whole.empty() ? run_dir : whole),
                     run_dir.substr(whole.empty() ? run_dir.size() : whole.size()));
}

/// A file's text; nullopt: it is not this user's alone. `folder`: its descriptor.
std::optional<std::string> own_text(System& system, int folder, const char* name) {
  constexpr std::size_t most_bytes = std::size_t{64} << 20;
  const int file = openat(folder, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
  if (file < 0) return std::nullopt;
  struct stat info {};
  const bool own = fstat(file, &info) == 0 && S_ISREG(info.st_mode) && why_not_own(info).empty();
  auto text = own ? read_run_file(system, fmt::format("/proc/self/fd/{}", file), most_bytes)
                  : Error{ErrorKind::bad_request, "", ""};
  close(file);
  return text ? std::optional(*std::move(text)) : std::nullopt;
}

/// The run's files, whoever put its directory there, if that and they are this user's alone. Its
/// plan comes last, by which copies count.
std::vector<std::pair<const char*, std::string>> own_files(System& system, const RunDir& run) {
  std::vector<std::pair<const char*, std::string>> files;
  const auto folder = open_own_folder(run.path);
  if (!folder || *folder < 0) return files;
  for (const char* name : {"job.yaml", "job.sbatch", "plan.json"})
    if (auto text = own_text(system, *folder, name)) files.emplace_back(name, *std::move(text));
  close(*folder);
  const bool whole = !files.empty() && files.front().first == std::string_view("job.yaml") &&
                     files.back().first == std::string_view("plan.json");
  if (!whole) files.clear();
  return files;
}

}  // namespace

std::string kept_folder(System& system, const std::string& run_dir) {
  const auto why = why_not_trusted(run_dir);
  if (why.empty()) return "";
  const auto state = state_folder(system);
  const auto not_there = state ? why_replaceable(*state) : "HOME is not set";
  if (not_there.empty()) return folder_in(*state, run_dir);
  system.log(fmt::format(
      "dllaunch: warning: {}, and no copies of what the run executes can be kept elsewhere: {}\n",
      why, not_there));
  return "";
}

Result<Ok> make_kept_folder(const std::string& folder) {
  constexpr std::string_view kept = "/kept";
  const auto state = folder.rfind(std::string(kept) + "/");
  auto made = make_closed_folder(folder.substr(0, state));
  if (made) made = make_closed_folder(folder.substr(0, state + kept.size()));
  return made ? make_closed_folder(folder) : made;
}

Result<RunDir> executed_files(System& system, const RunDir& run) {
  const auto why = why_not_trusted(run.path);
  if (why.empty()) return run;
  const auto state = state_folder(system);
  auto copies = run;
  copies.path = state ? folder_in(*state, run.path) : "";
  const bool kept = state && why_not_trusted(copies.path).empty();
  std::error_code ignored;
  if (kept && fs::exists(copies.plan_json(), ignored)) return copies;
  const auto files = own_files(system, run);
  if (files.empty())
    return Error{ErrorKind::bad_request,
                 fmt::format("{}: nothing is executed from {}, and you have no copies of its files",
                             why, run.path),
                 fmt::format("dllaunch run JOB.yaml --run-dir {}, with your job file",
                             shell_quote(run.path))};
  // A warning has said that there is no place for copies.
  if (!kept) return run;
  auto made = make_kept_folder(copies.path);
  for (const auto& [name, text] : files)
    if (made) made = write_file(copies.path + "/" + name, text);
  if (!made) return std::move(made).error();
  return copies;
}

std::string script_to_submit(System& system, const RunDir& run) {
  const auto files = executed_files(system, run);
  return files ? files->sbatch_script() : run.sbatch_script();
}

bool is_script_of(const RunDir& run, std::string_view script) {
  return script == run.sbatch_script() ||
         script.ends_with("/dllaunch/kept/" + name_of(run.path) + "/job.sbatch");
}

void forget_kept_files(const std::string& state, const std::string& run_dir) {
  std::error_code ignored;
  fs::remove_all(folder_in(state, run_dir), ignored);
}

}  // namespace dllaunch
