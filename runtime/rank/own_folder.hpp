// The folder of this program, which holds its modules.
#pragma once

#include <filesystem>
#include <system_error>

namespace dllaunch {

/// Empty if /proc cannot be read.
inline std::filesystem::path own_folder() {
  std::error_code unreadable;
  return std::filesystem::read_symlink("/proc/self/exe", unreadable).parent_path();
}

}  // namespace dllaunch
