#include "launcher/daemon/log_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>

namespace dllaunch {

bool turn_over(const std::string& path, std::int64_t most_bytes) {
  struct stat ours {};
  struct stat named {};
  if (fstat(STDERR_FILENO, &ours) != 0 || !S_ISREG(ours.st_mode)) return false;
  const bool same = stat(path.c_str(), &named) == 0 && named.st_ino == ours.st_ino;
  if (!same || ours.st_size <= most_bytes) return false;
  if (rename(path.c_str(), (path + ".1").c_str()) != 0) return false;
  const int fresh = open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  if (fresh < 0) return false;
  std::fflush(nullptr);
  dup2(fresh, STDOUT_FILENO);
  dup2(fresh, STDERR_FILENO);
  close(fresh);
  return true;
}

}  // namespace dllaunch
