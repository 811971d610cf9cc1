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

/// A file lock that the kernel releases when the last process with the file open exits. On NFS it
/// holds across login nodes, unless locks are local to each node. Then the signature, which the
/// holder renews, decides.
class DaemonLock {
 public:
  /// bad_request: another process holds the lock; the error names it and its host. unavailable: the
  /// file system has no locks, and two daemons would submit every job twice. `watch`: how long to
  /// observe a signature of another host before it is considered dead; bad_request too if it is
  /// renewed in that time. Clocks are not compared.
  static Result<DaemonLock> take(const std::string& path, std::chrono::milliseconds watch = {});

  /// Writes this process into the file as its holder; after a fork, the child.
  void sign() const;
  /// Renews the signature. Returns false if the file was removed or replaced: the next daemon would
  /// lock another file.
  bool renew() const;
  /// Removes the signature.
  void forget() const;
  /// Whether children started from now on inherit the lock until they exit.
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

/// Returns the holder; nullopt: none.
std::optional<LockHolder> holder_of(const std::string& path);

}  // namespace dllaunch
