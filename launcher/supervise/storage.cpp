#include "launcher/supervise/storage.hpp"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <system_error>
#include <utility>

#include "launcher/os/atomic_file.hpp"
#include "launcher/os/storage_patience.hpp"
#include "launcher/os/trial_file.hpp"
#include "support/held_folder.hpp"

namespace dllaunch {

namespace fs = std::filesystem;

RunStorage::RunStorage(RunDir run, bool guarded)
    : run_(std::move(run)), folder_(run_.path), guarded_(guarded) {
  std::error_code ignored;
  had_plan_ = fs::exists(run_.plan_json(), ignored);
  known_ = !run_.id.empty() && read_run_id(run_.path) == run_.id;
  if (known_)
    (void)utimensat(AT_FDCWD, (run_.path + "/.run-id").c_str(), nullptr, AT_SYMLINK_NOFOLLOW);
}

Result<Ok> RunStorage::check() const {
  if (auto same = folder_.check(); !same) return same;
  if (run_.id.empty()) return Ok{};
  const auto other = [this](const std::string& why) {
    return Error{ErrorKind::unavailable, fmt::format("run directory {} {}", run_.path, why),
                 "`dllaunch run` continues the run where its directory is, and writes its .run-id"};
  };
  struct stat info {};
  if (guarded_ && stat(run_.path.c_str(), &info) == 0 && is_anothers(info.st_uid))
    return other(why_not_own(info));
  const auto id = read_run_id(run_.path);
  if (id == run_.id) return Ok{};
  if (!id.empty()) return other("now holds another run");
  const auto file = run_.path + "/.run-id";
  const int why = access(file.c_str(), F_OK) == 0 ? 0 : errno;
  // Sites remove old files from their scratch disks.
  if (why == ENOENT && (known_ || (!guarded_ && had_plan_))) {
    (void)write_file(file, run_.id);
    return Ok{};
  }
  if (!guarded_) return Ok{};
  return other(why == ENOENT ? "has lost its .run-id: it may be another run's"
                             : fmt::format("has a .run-id that cannot be read: {}",
                                           why == 0 ? "no run's id" : std::strerror(why)));
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
