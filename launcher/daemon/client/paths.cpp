#include "launcher/daemon/client/paths.hpp"

#include <fmt/core.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>

#include "launcher/run/run_index.hpp"

namespace dllaunch {

std::optional<DaemonPaths> daemon_paths(System& system) {
  const auto runs = run_index_folder(system);
  if (!runs) return std::nullopt;
  return DaemonPaths{.folder = (std::filesystem::path(*runs).parent_path() / "daemon").string()};
}

Result<Ok> make_private(const std::string& folder) {
  std::error_code error;
  std::filesystem::create_directories(std::filesystem::path(folder).parent_path(), error);
  constexpr mode_t only_me = 0700;
  if (mkdir(folder.c_str(), only_me) != 0 && errno != EEXIST)
    return Error{ErrorKind::unavailable,
                 fmt::format("cannot make {}: {}", folder, std::strerror(errno)),
                 "set XDG_STATE_HOME to a folder that you can write"};
  struct stat info {};
  if (lstat(folder.c_str(), &info) != 0)
    return Error{ErrorKind::unavailable,
                 fmt::format("cannot examine {}: {}", folder, std::strerror(errno)), ""};
  if (!S_ISDIR(info.st_mode) || info.st_uid != geteuid())
    return Error{ErrorKind::bad_request, fmt::format("{} is not a folder of yours", folder),
                 "remove it, or set XDG_STATE_HOME"};
  if ((info.st_mode & 0077) != 0 && chmod(folder.c_str(), only_me) != 0)
    return Error{ErrorKind::bad_request, fmt::format("other users can read or write {}", folder),
                 "chmod 700 " + folder};
  return Ok{};
}

}  // namespace dllaunch
