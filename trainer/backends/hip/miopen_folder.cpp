#include "trainer/backends/hip/miopen_folder.hpp"

#include <fmt/core.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <system_error>

#include "support/held_folder.hpp"
#include "support/network_disk.hpp"

namespace dllaunch::hip {

namespace fs = std::filesystem;

std::optional<fs::path> node_disk(const EnvLookup& lookup) {
  for (const std::string& path :
       {lookup("SLURM_TMPDIR").value_or(""), lookup("TMPDIR").value_or(""), std::string("/tmp")}) {
    std::error_code unreadable;
    if (path.starts_with('/') && fs::is_directory(path, unreadable) &&
        ::access(path.c_str(), W_OK | X_OK) == 0 && !lies_on_network(path)) {
      return path;
    }
  }
  return std::nullopt;
}

std::optional<fs::path> private_folder(const fs::path& disk) {
  const fs::path folder = disk / fmt::format("dllaunch-miopen-{}", ::geteuid());
  constexpr mode_t owner_only = 0700;
  if (::mkdir(folder.c_str(), owner_only) != 0 && errno != EEXIST) return std::nullopt;
  // The name is predictable and /tmp is world-writable, and MIOpen executes what it finds there:
  // trust only a folder that no other user can write to.
  struct stat about {};
  if (::lstat(folder.c_str(), &about) != 0 || !S_ISDIR(about.st_mode) ||
      !why_not_own(about).empty()) {
    return std::nullopt;
  }
  return folder;
}

std::vector<std::pair<std::string, std::string>> miopen_variables(const EnvLookup& lookup) {
  constexpr std::array<std::pair<const char*, const char*>, 2> folders{
      {{"MIOPEN_USER_DB_PATH", "found"}, {"MIOPEN_CUSTOM_CACHE_DIR", "kernels"}}};
  std::vector<std::pair<std::string, std::string>> variables;
  for (const auto& [name, below] : folders) {
    if (!lookup(name).value_or("").empty()) continue;
    const auto disk = node_disk(lookup);
    const auto folder = disk ? private_folder(*disk) : std::nullopt;
    if (!folder) break;
    std::error_code refused;
    fs::create_directory(*folder / below, refused);
    if (!refused) variables.emplace_back(name, *folder / below);
  }
  return variables;
}

}  // namespace dllaunch::hip
