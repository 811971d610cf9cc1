#include "launcher/os/own_executable.hpp"

#include <filesystem>
#include <system_error>

namespace dllaunch {

Result<std::string> own_executable() {
  std::error_code problem;
  const auto program = std::filesystem::read_symlink("/proc/self/exe", problem);
  if (problem)
    return Error{ErrorKind::unavailable, "cannot read /proc/self/exe: " + problem.message(), ""};
  return program.string();
}

}  // namespace dllaunch
