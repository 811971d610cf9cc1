// One daemon per user: the holder of the lock is the daemon, whatever a pid file says.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <optional>
#include <string>
#include <utility>

#include "support/result.hpp"

namespace dllaunch {

struct LockHolder {
  pid_t pid = 0;
  std::string host = {};  // host the pid belongs to
};

/// A lock on a file, let go by the kernel when the last process that has it open is gone. On NFS
/// it holds for all login nodes, unless that is mounted with locks of each node's own: then the
/// signature that its holder renews tells.
class DaemonLock {
 public:
  /// bad_request: another process holds it, whose name and host are told. unavailable: the file
  /// system has no locks, without which two daemons would submit everything twice.
  /// `watch`: how long a signature of another host is looked at before it is taken for a dead
  /// one's; bad_request too when it is renewed meanwhile. No clocks are compared.
  static Result<DaemonLock> take(const std::string& path, std::chrono::milliseconds watch = {});

  /// Writes into the file who holds it: this process, after a fork the child.
  void sign() const;
  /// Says that its holder lives. False: the file was removed or replaced, and whoever comes next
  /// will lock another one.
  bool renew() const;
  /// Nobody needs to look at our signature any more.
  void forget() const;
  /// Children that are started from now on hold it too, until they end; or no longer.
  void share_with_children(bool share) const;

  DaemonLock(DaemonLock&& other) noexcept
      : fd_(std::exchange(other.fd_, -1)), path_(std::move(other.path_)) {}
  DaemonLock& operator=(DaemonLock&& other) noexcept {
    std::swap(fd_, other.fd_);
    std::swap(path_, other.path_);
    return *this;
  }
  ~DaemonLock();

 private:
  DaemonLock(int fd, std::string path) : fd_(fd), path_(std::move(path)) {}
  int fd_;
  std::string path_;
};

/// Nothing when nobody holds it.
std::optional<LockHolder> holder_of(const std::string& path);

}  // namespace dllaunch
