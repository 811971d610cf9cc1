#include "launcher/os/background.hpp"

#include <fcntl.h>
#include <fmt/core.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

namespace dllaunch {

Result<pid_t> fork_into_background(const std::string& log_path) {
  const int log =
      open(log_path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW | O_CLOEXEC, 0600);
  if (log < 0) {
    return Error{ErrorKind::unavailable,
                 fmt::format("cannot write {}: {}", log_path, std::strerror(errno)), ""};
  }
  std::fflush(nullptr);  // else both processes would write the buffered output
  const pid_t pid = fork();
  if (pid != 0) {
    const int error = errno;
    close(log);
    if (pid > 0) return pid;
    return Error{ErrorKind::unavailable, fmt::format("cannot fork: {}", std::strerror(error)), ""};
  }
  setsid();
  const int null = open("/dev/null", O_RDONLY | O_CLOEXEC);
  dup2(null, STDIN_FILENO);
  dup2(log, STDOUT_FILENO);
  dup2(log, STDERR_FILENO);
  if (null > STDERR_FILENO) close(null);
  close(log);
  return pid_t{0};
}

}  // namespace dllaunch
