#include "launcher/daemon/client/daemon_lock.hpp"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <string_view>
#include <thread>
#include <utility>

#include "support/regular_file.hpp"

namespace dllaunch {
namespace {

Error cannot(const std::string& path, int error) {
  return {ErrorKind::unavailable, fmt::format("cannot lock {}: {}", path, std::strerror(error)),
          "set XDG_STATE_HOME to a file system that has locks"};
}

LockHolder signature_in(int fd) {
  LockHolder holder;
  std::array<char, 300> text{};
  if (pread(fd, text.data(), text.size() - 1, 0) <= 0) return holder;
  const std::string_view content(text.data());
  const auto blank = content.find(' ');
  holder.pid = static_cast<pid_t>(std::atol(text.data()));
  if (blank != std::string_view::npos)
    holder.host = content.substr(blank + 1, content.find('\n') - blank - 1);
  return holder;
}

std::string own_host() {
  std::array<char, 256> host{};
  gethostname(host.data(), host.size() - 1);
  return host.data();
}

/// Returns when the signature was last renewed, by the file system's clock. Opens the file again: a
/// network file system may answer for an open file from its cache.
std::pair<long, long> renewed_at(const std::string& path) {
  const int fd = open_regular_file(path);
  struct stat info {};
  if (fd < 0 || fstat(fd, &info) != 0) info = {};
  if (fd >= 0) close(fd);
  return {info.st_mtim.tv_sec, info.st_mtim.tv_nsec};
}

bool is_renewed_within(const std::string& path, std::chrono::milliseconds watch) {
  const auto first = renewed_at(path);
  const auto end = std::chrono::steady_clock::now() + watch;
  while (std::chrono::steady_clock::now() < end) {
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    if (renewed_at(path) != first) return true;
  }
  return false;
}

Error held(const LockHolder& holder, const std::string& path) {
  return {ErrorKind::bad_request,
          fmt::format("process {} on {} holds {}", holder.pid, holder.host, path),
          "dllaunch daemon status, on " + holder.host};
}

}  // namespace

Result<DaemonLock> DaemonLock::take(const std::string& path, std::chrono::milliseconds watch) {
  const int fd = open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  if (fd < 0) return cannot(path, errno);
  DaemonLock lock(fd, path);
  // holder_of() takes the lock briefly.
  constexpr int tries = 5;
  for (int i = 0; flock(fd, LOCK_EX | LOCK_NB) != 0; ++i) {
    if (errno != EWOULDBLOCK) return cannot(path, errno);
    if (i < tries) {
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
      continue;
    }
    return held(signature_in(fd), path);
  }
  // If locks are local to a node, another node may hold this one as well.
  const auto last = signature_in(fd);
  const bool elsewhere = !last.host.empty() && last.host != own_host();
  if (elsewhere && is_renewed_within(path, watch)) return held(last, path);
  lock.sign();
  return lock;
}

void DaemonLock::sign() const {
  const std::string text = fmt::format("{} {}\n", static_cast<long>(getpid()), own_host());
  // Informational only: a full disk must not stop the daemon.
  if (ftruncate(fd_, 0) != 0) return;
  if (pwrite(fd_, text.data(), text.size(), 0) < 0) return;
}

bool DaemonLock::renew() const {
  struct stat ours {};
  struct stat named {};
  if (fstat(fd_, &ours) != 0 || stat(path_.c_str(), &named) != 0) return errno != ENOENT;
  if (ours.st_ino != named.st_ino || ours.st_dev != named.st_dev) return false;
  futimens(fd_, nullptr);
  return true;
}

void DaemonLock::forget() const {
  if (ftruncate(fd_, 0) != 0) return;
}

void DaemonLock::share_with_children(bool share) const {
  fcntl(fd_, F_SETFD, share ? 0 : FD_CLOEXEC);
}

DaemonLock::~DaemonLock() {
  if (fd_ >= 0) close(fd_);
}

std::optional<LockHolder> holder_of(const std::string& path) {
  const int fd = open_regular_file(path);
  if (fd < 0) return std::nullopt;
  std::optional<LockHolder> holder;
  if (flock(fd, LOCK_SH | LOCK_NB) != 0 && errno == EWOULDBLOCK) holder = signature_in(fd);
  close(fd);
  return holder;
}

}  // namespace dllaunch
