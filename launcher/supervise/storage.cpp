#include "launcher/supervise/storage.hpp"

#include <fmt/core.h>

#include <filesystem>
#include <system_error>
#include <utility>

#include "launcher/os/storage_patience.hpp"
#include "launcher/os/trial_file.hpp"

namespace dllaunch {

namespace fs = std::filesystem;

RunStorage::RunStorage(RunDir run) : run_(std::move(run)), folder_(run_.path) {
  std::error_code ignored;
  had_plan_ = fs::exists(run_.plan_json(), ignored);
}

Result<Ok> RunStorage::check() const {
  if (auto same = folder_.check(); !same) return same;
  if (run_.id.empty()) return Ok{};
  const auto id = read_run_id(run_.path);
  if (id.empty() || id == run_.id) return Ok{};
  return Error{ErrorKind::unavailable,
               fmt::format("run directory {} now holds another run", run_.path),
               "`dllaunch run` continues the run where its directory is"};
}

std::string RunStorage::trouble() const {
  if (run_.path.empty()) return "";
  std::error_code error;
  // An unmounted file system leaves its mount point, which is often writable. Files written there
  // vanish when it is mounted again.
  if (had_plan_ && !fs::exists(run_.plan_json(), error))
    return fmt::format("run directory {} does not exist{}", run_.path,
                       error ? ": " + error.message() : "");
  if (const auto same = check(); !same) return same.error().what;
  const auto trouble = write_trial_file(run_.path).what;
  return trouble.empty() ? "" : fmt::format("run directory {}: {}", run_.path, trouble);
}

bool RunStorage::is_blamed_by(std::string_view error_line) const {
  const bool names_run = error_line.find(run_.path + "/") != std::string_view::npos;
  return tells_of_no_room(error_line) || (names_run && tells_of_storage(error_line));
}

}  // namespace dllaunch
