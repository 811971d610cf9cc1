#include "launcher/run/kept_files.hpp"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <memory>
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

/// A file's text; nullopt: there is none. bad_request: it is not this user's alone. unavailable: it
/// cannot be read now. `folder`: its descriptor.
Result<std::optional<std::string>> own_text(System& system, int folder, const std::string& name) {
  constexpr std::size_t most_bytes = std::size_t{64} << 20;
  const int file = openat(folder, name.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
  if (file < 0 && errno == ENOENT) return std::optional<std::string>();
  if (file < 0)
    return Error{errno == ELOOP ? ErrorKind::bad_request : ErrorKind::unavailable,
                 fmt::format("{}: {}", name, std::strerror(errno)), ""};
  struct stat info {};
  const bool known = fstat(file, &info) == 0;
  auto why = known ? why_not_own(info) : "cannot be examined";
  if (known && why.empty() && !S_ISREG(info.st_mode)) why = "is not a file";
  auto text = why.empty() ? read_run_file(system, fmt::format("/proc/self/fd/{}", file), most_bytes)
                          : Error{known ? ErrorKind::bad_request : ErrorKind::unavailable,
                                  fmt::format("{} {}", name, why), ""};
  close(file);
  if (!text) return std::move(text).error();
  return std::optional(*std::move(text));
}

using Texts = std::vector<std::pair<std::string, std::string>>;

/// The run's files, whoever put its directory there, if that and they are this user's alone. Its
/// plan comes last, by which copies count. Those of components are more than these.
Result<Texts> own_files(System& system, const RunDir& run) {
  errno = 0;
  const auto folder = open_own_folder(run.path);
  if (!folder) return folder.error();
  if (*folder < 0)
    return Error{
        errno == ENOENT || errno == EACCES ? ErrorKind::bad_request : ErrorKind::unavailable,
        fmt::format("{}: {}", run.path, std::strerror(errno)), ""};
  const std::shared_ptr<const int> held(new int(*folder), [](const int* one) {
    close(*one);
    delete one;
  });
  if (faccessat(*folder, "components", F_OK, AT_SYMLINK_NOFOLLOW) == 0)
    return Error{ErrorKind::bad_request, "it has components", ""};
  Texts files;
  for (const char* name : {"job.yaml", "job.sbatch", ".run-id", "plan.json"}) {
    auto text = own_text(system, *folder, name);
    if (!text) return std::move(text).error();
    if (*text) files.emplace_back(name, **std::move(text));
  }
  if (files.empty() || files.back().first != "plan.json")
    return Error{ErrorKind::bad_request, "plan.json is missing", ""};
  return files;
}

/// The folder above may be a link of the user's, to another disk.
Result<Ok> make_folder(const std::string& state, const std::string& folder) {
  std::error_code ignored;
  auto made = make_closed_folder(fs::weakly_canonical(state, ignored));
  if (made) made = make_closed_folder(state + "/kept");
  return made ? make_closed_folder(folder) : made;
}

/// Of runs that are long over. One that goes on after all takes its own directory's files.
void forget_the_old(const std::string& state) {
  constexpr auto most_age = std::chrono::hours(24) * 400;
  const auto oldest = fs::file_time_type::clock::now() - most_age;
  std::error_code error;
  for (fs::directory_iterator at(state + "/kept", error), end; !error && at != end;
       at.increment(error)) {
    std::error_code unknown;
    const auto written = at->last_write_time(unknown);
    std::error_code ignored;
    if (!unknown && written < oldest) fs::remove_all(at->path(), ignored);
  }
}

/// Why no copies can be kept; empty: they can, in this folder.
std::string why_not_kept(const std::optional<std::string>& state, const std::string& folder,
                         bool make) {
  if (!state) return "HOME is not set";
  auto why = why_replaceable(*state);
  if (!why.empty() || !make) return why;
  auto made = make_folder(*state, folder);
  // As much as the copies may need: a full disk is noticed before the plan names them.
  const auto trial = folder + "/.writable";
  constexpr std::size_t trial_bytes = std::size_t{1} << 20;
  if (made) made = write_file(trial, std::string(trial_bytes, '\n'));
  std::error_code ignored;
  fs::remove(trial, ignored);
  if (!made) return made.error().what;
  forget_the_old(*state);
  return why_not_trusted(folder);
}

}  // namespace

std::string kept_folder(System& system, const std::string& run_dir, bool make) {
  const auto why = why_not_trusted(run_dir);
  if (why.empty()) return "";
  const auto state = state_folder(system);
  auto folder = state ? folder_in(*state, run_dir) : "";
  const auto not_there = why_not_kept(state, folder, make);
  if (not_there.empty()) return folder;
  system.log(fmt::format(
      "dllaunch: warning: {}, and no copies of what the run executes can be kept elsewhere: {}\n",
      why, not_there));
  return "";
}

Result<RunDir> executed_files(System& system, const RunDir& run, bool make) {
  const auto why = why_not_trusted(run.path);
  if (why.empty()) return run;
  const auto state = state_folder(system);
  auto copies = run;
  copies.path = state ? folder_in(*state, run.path) : "";
  const bool kept = state && why_not_trusted(copies.path).empty();
  std::error_code ignored;
  if (kept && fs::exists(copies.plan_json(), ignored)) return copies;
  const auto files = own_files(system, run);
  if (!files && files.error().kind == ErrorKind::unavailable) return files.error();
  if (!files)
    return Error{ErrorKind::bad_request,
                 fmt::format("{}: nothing is executed from {}, and you have no copies of its "
                             "files ({})",
                             why, run.path, files.error().what),
                 fmt::format("dllaunch run JOB.yaml --run-dir {}, with your job file",
                             shell_quote(run.path))};
  if (!kept || !make) return run;
  auto made = make_folder(*state, copies.path);
  for (const auto& [name, text] : *files)
    if (made) made = write_file(copies.path + "/" + name, text);
  if (made) return copies;
  if (auto gone = forget_kept_files(*state, run.path); !gone) return gone.error();
  return run;  // there is no place for copies
}

std::string submitted_script(System& system, const RunDir& run) {
  const auto state = why_not_trusted(run.path).empty() ? std::nullopt : state_folder(system);
  const RunDir copies{.path = state ? folder_in(*state, run.path) : ""};
  const bool kept = state && access(copies.sbatch_script().c_str(), F_OK) == 0;
  return kept ? copies.sbatch_script() : run.sbatch_script();
}

bool is_script_of(const RunDir& run, std::string_view script) {
  if (script == run.sbatch_script()) return true;
  constexpr std::string_view name = "/job.sbatch";
  if (script.find("/dllaunch/kept/") == std::string_view::npos || !script.ends_with(name))
    return false;
  if (script.ends_with(fmt::format("/dllaunch/kept/{}{}", name_of(run.path), name))) return true;
  // Its directory was moved.
  const auto id = read_run_id(run.path);
  return !id.empty() && id == read_run_id(std::string(script.substr(0, script.rfind('/'))));
}

Result<Ok> forget_kept_files(const std::string& state, const std::string& run_dir) {
  const auto folder = folder_in(state, run_dir);
  std::error_code error;
  fs::remove_all(folder, error);
  if (!error) return Ok{};
  return Error{ErrorKind::unavailable, fmt::format("cannot remove {}: {}", folder, error.message()),
               "they are the run's files of an earlier submission: remove them by hand"};
}

}  // namespace dllaunch
