#include "launcher/autopsy/mapped_files.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <optional>
#include <string>
#include <utility>

#include <fmt/core.h>

namespace dllaunch {
namespace {

std::optional<std::pair<dev_t, ino_t>> identity_of(const std::string& path) {
  struct stat info {};
  if (stat(path.c_str(), &info) != 0) return std::nullopt;
  return std::pair(info.st_dev, info.st_ino);
}

int open_regular(const std::string& path) {
  const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);  // it may be a FIFO
  struct stat info {};
  if (file < 0 || (fstat(file, &info) == 0 && S_ISREG(info.st_mode))) return file;
  close(file);
  return -1;
}

}  // namespace

MappedFiles::MappedFiles(int pid)
    : root_(fmt::format("/proc/{}/root", pid)),
      elsewhere_(identity_of(fmt::format("/proc/{}/ns/mnt", pid)) !=
                 identity_of("/proc/self/ns/mnt")) {}

int MappedFiles::open(const std::string& path) const {
  return open_regular(root_ + path);
}

}  // namespace dllaunch
