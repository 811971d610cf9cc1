// The files that another process has mapped, as that process sees them. In a container a path names
// another file than here, or one that is not here at all.
#pragma once

#include <string>

namespace dllaunch {

class MappedFiles {
 public:
  explicit MappedFiles(int pid);

  /// Whether the process has another mount namespace than this one. In the same one, the kernel
  /// writes the paths of /proc/PID/maps as seen from here, whatever the process's root is.
  bool elsewhere() const { return elsewhere_; }

  /// Opens the regular file behind a path of an elsewhere() process's maps for reading; -1: it
  /// cannot be.
  int open(const std::string& path) const;

 private:
  std::string root_;  // "/proc/PID/root"
  bool elsewhere_ = false;
};

}  // namespace dllaunch
