// The files that another process has mapped, as that process sees them. In a container a path names
// another file than here, or one that is not here at all.
#pragma once

#include <sys/types.h>

#include <map>
#include <string>
#include <utility>

namespace dllaunch {

class MappedFiles {
 public:
  explicit MappedFiles(int pid);

  /// Whether the process has another root or mount namespace than this one.
  bool elsewhere() const { return elsewhere_; }

  /// Opens the regular file behind a path of /proc/PID/maps for reading; -1: it cannot be. The
  /// kernel writes that path as seen from here if it can, else as seen in the process's namespace:
  /// the inode tells which. Where none has it, as on an overlay, the process's own view counts.
  int open(const std::string& path) const;

 private:
  using Identity = std::pair<dev_t, ino_t>;

  std::string root_;  // "/proc/PID/root"
  bool elsewhere_ = false;
  std::map<std::string, Identity> identities_;  // by path
};

}  // namespace dllaunch
