#include "launcher/autopsy/mapped_files.hpp"

#include <sys/stat.h>

#include <optional>
#include <string>
#include <utility>

#include <fmt/core.h>

#include "support/regular_file.hpp"

namespace dllaunch {
namespace {

std::optional<std::pair<dev_t, ino_t>> identity_of(const std::string& path) {
  struct stat info {};
  if (stat(path.c_str(), &info) != 0) return std::nullopt;
  return std::pair(info.st_dev, info.st_ino);
}

}  // namespace

MappedFiles::MappedFiles(int pid)
    : root_(fmt::format("/proc/{}/root", pid)),
      elsewhere_(identity_of(fmt::format("/proc/{}/ns/mnt", pid)) !=
                 identity_of("/proc/self/ns/mnt")) {}

int MappedFiles::open(const std::string& path) const {
  return open_regular_file(root_ + path);
}

}  // namespace dllaunch
