#include "launcher/supervise/storage.hpp"

#include <fmt/core.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <system_error>
#include <utility>

#include "launcher/os/trial_file.hpp"
#include "support/held_folder.hpp"

namespace dllaunch {

namespace fs = std::filesystem;

RunStorage::RunStorage(RunDir run) : run_(std::move(run)), folder_(run_.path) {
  std::error_code ignored;
  had_plan_ = fs::exists(run_.plan_json(), ignored);
}

Result<Ok> RunStorage::check() const {
  if (auto same = folder_.check(); !same) return same;
  if (run_.id.empty()) return Ok{};
  struct stat info {};
  const bool known = stat(run_.path.c_str(), &info) == 0;
  const bool own = known && info.st_uid == geteuid();
  const auto id = read_run_id(run_.path);
  if (own && id == run_.id) return Ok{};
  return Error{ErrorKind::unavailable,
               fmt::format("run directory {} {}", run_.path,
                           known && !own ? why_not_own(info)
                           : id.empty()  ? "has lost its .run-id: it may be another run's"
                                         : "now holds another run"),
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

bool tells_of_no_room(std::string_view error_line) {
  constexpr std::array<std::string_view, 2> signs = {"No space left on device",
                                                     "Disk quota exceeded"};
  return std::ranges::any_of(signs, [error_line](std::string_view sign) {
    return error_line.find(sign) != std::string_view::npos;
  });
}

}  // namespace dllaunch
