// A long-running child that ends no later than this process.
#pragma once

#include <sys/types.h>

#include <csignal>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "support/result.hpp"

namespace dllaunch {

struct ProcessRequest {
  std::string program;                                           // absolute path
  std::vector<std::string> argv;                                 // includes argv[0]
  std::vector<std::pair<std::string, std::string>> environment;  // replaces or extends ours
  std::string output_path = {};  // file to which standard output and error are appended
  // Without output_path: descriptors for its streams, -1: input is /dev/null, output and error are
  // ours.
  int input_fd = -1;
  int output_fd = -1;
  int error_fd = -1;
  int signal_at_our_death = SIGTERM;
};

/// Runs in its own process group, so that a terminal's Ctrl-C reaches only this process, with
/// default signals. The kernel sends it a signal when this
/// process dies.
class OwnedProcess {
 public:
  /// unavailable: the program cannot be started, or the output file cannot be opened.
  static Result<OwnedProcess> start(const ProcessRequest& request);

  OwnedProcess(OwnedProcess&& other) noexcept
      : pid_(std::exchange(other.pid_, -1)),
        end_fd_(std::exchange(other.end_fd_, -1)),
        status_(other.status_),
        peak_memory_bytes_(other.peak_memory_bytes_) {}
  OwnedProcess& operator=(OwnedProcess&&) = delete;
  /// If it still runs: kills its group and reaps it, within 2 s.
  ~OwnedProcess();

  pid_t pid() const { return pid_; }
  /// A descriptor that is readable once it has ended; -1: the kernel has none (before 5.3).
  int end_fd() const { return end_fd_; }

  /// The exit code, 128+n after signal n; nullopt while it runs.
  std::optional<int> poll();
  void send(int signal) const;

  /// The most memory that it, or a process that it waited for, had resident (ru_maxrss); 0 while it
  /// runs, or if it was reaped elsewhere.
  std::int64_t peak_memory_bytes() const { return peak_memory_bytes_; }

 private:
  explicit OwnedProcess(pid_t pid);

  pid_t pid_ = -1;
  int end_fd_ = -1;
  std::optional<int> status_;
  std::int64_t peak_memory_bytes_ = 0;
};

}  // namespace dllaunch
