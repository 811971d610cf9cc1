// A folder that has to stay the same one.
#pragma once

#include <filesystem>
#include <memory>

#include "support/result.hpp"

namespace dllaunch {

/// Where a file system was mounted there is a folder without it too. What is written into that
/// while it is away is gone when it comes back.
class HeldFolder {
 public:
  /// As it is now; while it is held its number is nobody else's.
  explicit HeldFolder(std::filesystem::path path);

  /// unavailable: there is none under its name now, or another one. Ok where it could not be held.
  Result<Ok> check() const;

 private:
  std::filesystem::path path_;
  std::shared_ptr<const int> descriptor_;
};

}  // namespace dllaunch
