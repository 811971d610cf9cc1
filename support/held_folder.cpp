#include "support/held_folder.hpp"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

namespace dllaunch {

HeldFolder::HeldFolder(std::filesystem::path path) : path_(std::move(path)) {
  const int descriptor = ::open(path_.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC);
  if (descriptor < 0) return;
  descriptor_ = std::shared_ptr<const int>(new int(descriptor), [](const int* held) {
    ::close(*held);
    delete held;
  });
}

Result<Ok> HeldFolder::check() const {
  struct stat held {};
  struct stat now {};
  if (!descriptor_ || ::fstat(*descriptor_, &held) != 0) return Ok{};
  const bool there = ::stat(path_.c_str(), &now) == 0;
  if (there && now.st_ino == held.st_ino && now.st_dev == held.st_dev) return Ok{};
  return Error{ErrorKind::unavailable,
               fmt::format("cannot write into {}: {}", path_.string(),
                           there ? "its file system is not mounted, this is another folder"
                                 : std::strerror(errno)),
               "mount it on this node, then run again: it resumes"};
}

}  // namespace dllaunch
