// A private folder on the local disk, removed with its owner.
#pragma once

#include <chrono>
#include <optional>
#include <string>

#include "launcher/os/owned_process.hpp"

namespace dllaunch {

/// The destructor removes it recursively. If the owner is killed, a child that outlives it does; if
/// that is killed too, the next one that is created beside it.
class ScratchFolder {
 public:
  explicit ScratchFolder(const std::string& below);
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;
  ~ScratchFolder();

  /// Empty if the folder could not be created.
  const std::string& path() const { return path_; }
  /// 0: there is none.
  pid_t remover() const { return remover_ ? remover_->pid() : 0; }

 private:
  std::string path_;
  int owner_ = -1;  // closed when this process ends, however it does: then `remover_` reads its end
  std::optional<OwnedProcess> remover_;
  int lock_ = -1;  // held while the owner lives; tells sweep_scratch() that the folder is in use
};

/// TMPDIR if it is a folder, else /tmp.
std::string temporary_folder();

/// Removes scratch folders in `below` (recognised by a marker file) that are unlocked and older
/// than `age`: a new one may not be locked yet. Returns how many.
int sweep_scratch(const std::string& below, std::chrono::seconds age);

}  // namespace dllaunch
