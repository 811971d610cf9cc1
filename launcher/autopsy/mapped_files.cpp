#include "launcher/autopsy/mapped_files.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <fstream>
#include <optional>
#include <sstream>

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

MappedFiles::MappedFiles(int pid) : root_(fmt::format("/proc/{}/root", pid)) {
  elsewhere_ = identity_of(root_) != identity_of("/") ||
               identity_of(fmt::format("/proc/{}/ns/mnt", pid)) != identity_of("/proc/self/ns/mnt");
  if (!elsewhere_) return;
  // "7f1c2a000000-7f1c2a026000 r--p 00000000 08:01 3145 /lib/libc.so.6", as in proc(5)
  std::ifstream maps(fmt::format("/proc/{}/maps", pid));
  for (std::string line; std::getline(maps, line);) {
    std::istringstream fields(line);
    std::string skipped;
    unsigned major_number = 0;
    unsigned minor_number = 0;
    ino_t inode = 0;
    char colon = 0;
    fields >> skipped >> skipped >> skipped >> std::hex >> major_number >> colon >> minor_number >>
        std::dec >> inode;
    std::string path;
    if (fields && std::getline(fields >> std::ws, path) && path.starts_with('/'))
      identities_.emplace(path, Identity(makedev(major_number, minor_number), inode));
  }
}

int MappedFiles::open(const std::string& path) const {
  const auto known = identities_.find(path);
  const bool seen_from_here = known != identities_.end() &&
                              identity_of(root_ + path) != known->second &&
                              identity_of(path) == known->second;
  return open_regular(seen_from_here ? path : root_ + path);
}

}  // namespace dllaunch
