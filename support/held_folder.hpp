// Detects that a folder was replaced by another one.
#pragma once

#include <filesystem>
#include <memory>

#include "support/result.hpp"

namespace dllaunch {

/// Keeps a folder open to notice when its file system is unmounted. The empty mount point remains,
/// and files written there disappear from view when the file system is mounted again.
class HeldFolder {
 public:
  /// Opens the folder as it is now. While it is open, its inode number is not reused.
  explicit HeldFolder(std::filesystem::path path);

  /// unavailable: the path leads to no folder or to another one. Ok if the folder could not be
  /// opened.
  Result<Ok> check() const;

 private:
  std::filesystem::path path_;
  std::shared_ptr<const int> descriptor_;
};

}  // namespace dllaunch
