// A private folder on this machine's own disk that does not outlive its owner for long.
#pragma once

#include <chrono>
#include <string>

namespace dllaunch {

/// Removed with all it holds at the end. Only an owner that was killed outright leaves it; the next
/// one made beside it removes it.
class ScratchFolder {
 public:
  explicit ScratchFolder(const std::string& below);
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;
  ~ScratchFolder();

  /// Empty: it could not be made.
  const std::string& path() const { return path_; }

 private:
  std::string path_;
  int lock_ = -1;  // held as long as its owner lives, so that sweep_scratch() knows whose is whose
};

/// TMPDIR where it is a folder, else /tmp.
std::string temporary_folder();

/// Removes the scratch folders in `below`, known by a marker file, that no process holds and that
/// are older than `age`: one just made may not be locked yet. Returns how many.
int sweep_scratch(const std::string& below, std::chrono::seconds age);

}  // namespace dllaunch
