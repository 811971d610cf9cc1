#include "support/run_file.hpp"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <random>
#include <utility>

namespace dllaunch {

bool is_shared(const std::string& run_dir) {
  struct stat marker {};
  return lstat((run_dir + "/" + share_marker).c_str(), &marker) == 0;
}

int open_run_file(const std::string& run_dir, const std::string& path, int flags, mode_t mode) {
  // Opening a pipe may block.
  const int file = open(path.c_str(), flags | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK | O_NOCTTY, mode);
  if (file < 0) return file;
  struct stat now {};
  if (fstat(file, &now) != 0 || !S_ISREG(now.st_mode)) {
    close(file);
    errno = EINVAL;
    return -1;
  }
  fcntl(file, F_SETFL, flags);
  // A file of another user keeps the mode that its owner gave it.
  if ((flags & O_CREAT) != 0 && is_shared(run_dir) && now.st_uid == geteuid() &&
      (now.st_mode & S_IRGRP) == 0)
    fchmod(file, (now.st_mode & 07777) | S_IRGRP);
  return file;
}

std::filesystem::path temporary_beside(const std::filesystem::path& file) {
  std::random_device random;
  return file.parent_path() /
         fmt::format(".{}.{:08x}{:08x}.tmp", file.filename().string(), random(), random());
}

bool is_later_step(std::string_view name, std::string_view than) {
  return std::pair(name.size(), name) > std::pair(than.size(), than);
}

}  // namespace dllaunch
