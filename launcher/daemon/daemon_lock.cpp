#include "launcher/daemon/daemon_lock.hpp"

#include <fcntl.h>
#include <fmt/format.h>
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

namespace dllaunch {
namespace {

Error cannot(const std::string& path, int error) {
  return {ErrorKind::unavailable, fmt::format("cannot lock {}: {}", path, std::strerror(error)),
          "set XDG_STATE_HOME to a file system that has locks"};
}

LockHolder signature_in(int fd) {
  LockHolder holder;
  std::array<char, 300> text{};
  struct stat info {};
  if (pread(fd, text.data(), text.size() - 1, 0) <= 0 || fstat(fd, &info) != 0) return holder;
  const std::string_view words(text.data());
  const auto blank = words.find(' ');
  holder.pid = static_cast<pid_t>(std::atol(text.data()));
  if (blank != std::string_view::npos)
    holder.host = words.substr(blank + 1, words.find('\n') - blank - 1);
  holder.since_s = static_cast<double>(info.st_mtime);
  return holder;
}

}  // namespace

Result<DaemonLock> DaemonLock::take(const std::string& path) {
  const int fd = open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  if (fd < 0) return cannot(path, errno);
  DaemonLock lock(fd);
  // Who only looks (holder_of) holds it for an instant.
  constexpr int tries = 5;
  for (int i = 0; flock(fd, LOCK_EX | LOCK_NB) != 0; ++i) {
    if (errno != EWOULDBLOCK) return cannot(path, errno);
    if (i < tries) {
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
      continue;
    }
    const auto holder = signature_in(fd);
    return Error{ErrorKind::bad_request,
                 fmt::format("process {} on {} holds {}", holder.pid, holder.host, path), ""};
  }
  lock.sign();
  return lock;
}

void DaemonLock::sign() const {
  std::array<char, 256> host{};
  gethostname(host.data(), host.size() - 1);
  const std::string text = fmt::format("{} {}\n", static_cast<long>(getpid()), host.data());
  // Only for those who look: a full disk must not stop the daemon.
  if (ftruncate(fd_, 0) != 0) return;
  if (pwrite(fd_, text.data(), text.size(), 0) < 0) return;
}

void DaemonLock::share_with_children(bool share) const {
  fcntl(fd_, F_SETFD, share ? 0 : FD_CLOEXEC);
}

DaemonLock::~DaemonLock() {
  if (fd_ >= 0) close(fd_);
}

std::optional<LockHolder> holder_of(const std::string& path) {
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return std::nullopt;
  std::optional<LockHolder> holder;
  if (flock(fd, LOCK_SH | LOCK_NB) != 0 && errno == EWOULDBLOCK) holder = signature_in(fd);
  close(fd);
  return holder;
}

}  // namespace dllaunch
