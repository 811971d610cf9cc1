#include "launcher/rank/rendezvous/rendezvous_file.hpp"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>

#include "launcher/rank/rendezvous/user_key.hpp"
#include "support/held_folder.hpp"
#include "support/network/sockets.hpp"
#include "support/run_file.hpp"

namespace dllaunch {
namespace {

constexpr mode_t others_at_all = 077;
constexpr std::size_t most_bytes = 65536;

/// Closes the descriptor in its destructor.
struct Descriptor {
  explicit Descriptor(int opened) : fd(opened) {}
  ~Descriptor() {
    if (fd >= 0) close(fd);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  int fd;
};

std::string folder_of(const std::string& run_dir) {
  return run_dir + "/.rendezvous";
}

Error not_ours(const std::string& path, const std::string& what, const std::string& hint) {
  return {ErrorKind::bad_request, fmt::format("{} {}", path, what), hint};
}

/// `secret`: nobody else may read it either.
Result<Ok> check(int fd, const std::string& path, bool secret) {
  struct stat info {};
  if (fstat(fd, &info) != 0)
    return Error{ErrorKind::unavailable, fmt::format("cannot examine {}: {}", path, last_error()),
                 ""};
  if (const auto why = why_not_own(info); !why.empty())
    return not_ours(path, why,
                    info.st_uid == geteuid() ? "chmod go-w " + path
                                             : "remove it, or use another run directory");
  if (secret && (info.st_mode & others_at_all) != 0)
    return not_ours(path, "holds a secret and can be read by others", token_remedy);
  return Ok{};
}

}  // namespace

std::string meeting_file(const std::string& run_dir, const std::string& start_name) {
  return folder_of(run_dir) + "/" + start_name;
}

Result<Ok> publish(const std::string& run_dir, const std::string& start_name,
                   const RendezvousPoint& point) {
  const auto path = meeting_file(run_dir, start_name);
  mkdir(folder_of(run_dir).c_str(), 0700);
  const auto opened = open_own_folder(folder_of(run_dir));
  if (!opened) return opened.error();
  const Descriptor folder(*opened);
  const auto cannot = [&] {
    return Error{ErrorKind::unavailable, fmt::format("cannot write {}: {}", path, last_error()),
                 "the run directory must be writable on every node"};
  };
  if (folder.fd < 0) return cannot();
  const auto unfinished = temporary_beside(start_name).string();
  const Descriptor file(openat(folder.fd, unfinished.c_str(),
                               O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (file.fd < 0) return cannot();
  // Inherited access lists may have widened the mode.
  fchmod(file.fd, 0600);
  auto good = check(file.fd, path, !point.secret.empty());
  const std::string line = to_line(point, start_name);
  if (good && (write(file.fd, line.data(), line.size()) != static_cast<ssize_t>(line.size()) ||
               fsync(file.fd) != 0 ||
               renameat(folder.fd, unfinished.c_str(), folder.fd, start_name.c_str()) != 0))
    good = cannot();
  if (!good) unlinkat(folder.fd, unfinished.c_str(), 0);
  return good;
}

Result<std::optional<RendezvousPoint>> published(const std::string& run_dir,
                                                 const std::string& start_name) {
  const std::optional<RendezvousPoint> nothing;
  const auto path = meeting_file(run_dir, start_name);
  // Opening it also refreshes NFS, which caches for half a minute that a file does not exist.
  const auto opened = open_own_folder(folder_of(run_dir));
  if (!opened) return opened.error();
  const Descriptor folder(*opened);
  if (folder.fd < 0) return nothing;
  const Descriptor file(
      openat(folder.fd, start_name.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  if (file.fd < 0 && errno == ELOOP) return not_ours(path, "is a link", "remove it");
  if (file.fd < 0) return nothing;
  if (auto good = check(file.fd, path, /*secret=*/false); !good) return std::move(good).error();
  std::string text(most_bytes, '\0');
  const ssize_t got = read(file.fd, text.data(), text.size());
  if (got <= 0) return nothing;
  text.resize(static_cast<std::size_t>(got));
  auto point = parse_rendezvous_point(text, start_name);
  if (!point) return nothing;
  if (!point->secret.empty())
    if (auto good = check(file.fd, path, /*secret=*/true); !good) return std::move(good).error();
  return std::optional<RendezvousPoint>(*std::move(point));
}

}  // namespace dllaunch
