// A folder of a test as another machine has it.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <string>

namespace dllaunch {

/// DLLAUNCH_TEST_OTHER_VIEW is where the file system of TMPDIR is mounted a second time, by another
/// NFS client; without it the path stays as it is.
inline std::string seen_elsewhere(const std::string& path) {
  const char* other = std::getenv("DLLAUNCH_TEST_OTHER_VIEW");
  if (other == nullptr) return path;
  return (other / std::filesystem::relative(path, std::filesystem::temp_directory_path())).string();
}

}  // namespace dllaunch
