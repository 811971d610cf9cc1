// A long-running child with an owner: it ends no later than we do.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "support/result.hpp"

namespace dllaunch {

struct ProcessRequest {
  std::string program;                                           // absolute path
  std::vector<std::string> argv;                                 // argv[0] included
  std::vector<std::pair<std::string, std::string>> environment;  // added to ours, replacing
  std::string output_path = {};  // standard output and error are appended there
  int error_fd =
      -1;  // without output_path: standard error goes there, standard output where ours does
};

/// Runs in a process group of its own, so a terminal's Ctrl-C reaches only us, with standard input
/// from /dev/null and default signals. The kernel sends it SIGTERM when we die, however we die.
class OwnedProcess {
 public:
  /// unavailable: cannot start, or the output file cannot be opened.
  static Result<OwnedProcess> start(const ProcessRequest& request);

  OwnedProcess(OwnedProcess&& other) noexcept
      : pid_(std::exchange(other.pid_, -1)), status_(other.status_) {}
  OwnedProcess& operator=(OwnedProcess&&) = delete;
  /// Still running: its group is killed and it is reaped, within 2 s.
  ~OwnedProcess();

  pid_t pid() const { return pid_; }

  /// Its exit code, 128+n when signal n ended it; nothing while it runs.
  std::optional<int> poll();
  void send(int signal) const;

 private:
  explicit OwnedProcess(pid_t pid) : pid_(pid) {}

  pid_t pid_ = -1;
  std::optional<int> status_;
};

}  // namespace dllaunch
