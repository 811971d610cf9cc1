// Finds the processes of ranks under a real mpirun through /proc.
#pragma once

#include <sys/types.h>

#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

namespace dllaunch {

/// Returns the process of a rank started with this configuration; 0: none yet.
inline pid_t process_of_rank(const std::string& config, const std::string& rank) {
  for (const auto& entry : std::filesystem::directory_iterator("/proc")) {
    const auto name = entry.path().filename().string();
    if (name.find_first_not_of("0123456789") != std::string::npos) continue;
    const auto has = [&](const char* file, const std::string& what) {
      // Of a process that ends at this moment, operator<< catches what an iterator throws.
      std::ostringstream text;
      text << std::ifstream(entry.path() / file, std::ios::binary).rdbuf();
      return text.str().find(what) != std::string::npos;
    };
    if (has("cmdline", config) && has("environ", "OMPI_COMM_WORLD_RANK=" + rank + '\0')) {
      return std::stoi(name);
    }
  }
  return 0;
}

}  // namespace dllaunch
