#include "support/regular_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

namespace dllaunch {

int open_regular_file(const std::string& path) {
  const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
  if (file < 0) return -1;
  struct stat info {};
  if (fstat(file, &info) == 0 && S_ISREG(info.st_mode)) return file;
  close(file);
  errno = S_ISDIR(info.st_mode) ? EISDIR : EINVAL;
  return -1;
}

}  // namespace dllaunch
