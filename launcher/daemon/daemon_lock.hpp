// One daemon per user: who holds the lock is it, whatever a pid file says.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <utility>

#include "topology/result.hpp"

namespace dllaunch {

struct LockHolder {
  pid_t pid = 0;
  std::string host = {};  // where the pid means something
  double since_s = 0;     // Unix seconds
};

/// A lock on a file, let go by the kernel when the last process that has it open is gone. On NFS
/// it holds for all login nodes.
class DaemonLock {
 public:
  /// bad_request: another process holds it, whose name and host are told. unavailable: the file
  /// system has no locks, without which two daemons would submit everything twice.
  static Result<DaemonLock> take(const std::string& path);

  /// Writes into the file who holds it: this process, after a fork the child.
  void sign() const;
  /// Children that are started from now on hold it too, until they end; or no longer.
  void share_with_children(bool share) const;

  DaemonLock(DaemonLock&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  DaemonLock& operator=(DaemonLock&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  ~DaemonLock();

 private:
  explicit DaemonLock(int fd) : fd_(fd) {}
  int fd_;
};

/// Nothing when nobody holds it.
std::optional<LockHolder> holder_of(const std::string& path);

}  // namespace dllaunch
