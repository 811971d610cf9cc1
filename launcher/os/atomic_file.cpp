#include "launcher/os/atomic_file.hpp"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <utility>

#include "support/held_folder.hpp"
#include "support/run_file.hpp"

namespace dllaunch {
namespace {

namespace fs = std::filesystem;

Error cannot_write(const std::string& path, const std::string& why) {
  return {ErrorKind::bad_request, fmt::format("cannot write {}: {}", path, why),
          "choose another folder with --run-dir DIR"};
}

bool ends_within_a_line(int fd) {
  const auto size = lseek(fd, 0, SEEK_END);
  char last = '\n';
  return size > 0 && pread(fd, &last, 1, size - 1) == 1 && last != '\n';
}

Result<Ok> write_and_sync(int fd, const std::string& path, const std::string& text) {
  std::size_t done = 0;
  while (done < text.size()) {
    const ssize_t got = write(fd, text.data() + done, text.size() - done);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return cannot_write(path, std::strerror(errno));
    done += static_cast<std::size_t>(got);
  }
  // Some file systems cannot sync (EINVAL); the rename is still atomic for readers.
  if (fsync(fd) != 0 && errno != EINVAL && errno != ENOTSUP) {
    return cannot_write(path, std::strerror(errno));
  }
  return Ok{};
}

/// Job files hold tokens and passwords: readable only by the intended users, whatever the umask.
constexpr mode_t private_file = 0600;

Result<Ok> write_temporary(const std::string& temporary, const std::string& path,
                           const std::string& text, Readers readers) {
  constexpr int flags = O_WRONLY | O_CREAT | O_EXCL;
  const int fd = readers == Readers::none
                     ? open(temporary.c_str(), flags | O_NOFOLLOW | O_CLOEXEC, private_file)
                     : open_run_file(fs::path(path).parent_path(), temporary, flags);
  if (fd < 0) return cannot_write(path, std::strerror(errno));
  auto written = write_and_sync(fd, path, text);
  // NFS may report a full disk only at close().
  if (close(fd) != 0 && written) written = cannot_write(path, std::strerror(errno));
  if (!written) unlink(temporary.c_str());
  return written;
}

}  // namespace

int make_private_folder(const std::string& path) {
  std::error_code error;
  const auto above = fs::path(path).parent_path();
  auto known = above;
  while (!fs::exists(known, error) && known.has_relative_path()) known = known.parent_path();
  fs::create_directories(above, error);
  if (error) return error.value();
  if (mkdir(path.c_str(), 0700) == 0) {
    for (auto folder = above;; folder = folder.parent_path()) {
      // If the folder cannot be written, the first file reports it.
      const auto ignored = sync_folder(folder);
      if (folder == known || !folder.has_relative_path()) return 0;
    }
  }
  const int why = errno;
  return fs::is_directory(path, error) ? 0 : why;
}

Result<Ok> make_closed_folder(const std::string& path) {
  const auto refused = [&path](const std::string& why) {
    return Error{ErrorKind::bad_request, fmt::format("cannot make {}: {}", path, why), ""};
  };
  if (const int why = make_private_folder(path); why != 0) return refused(std::strerror(why));
  const int folder = open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  if (folder < 0) return refused(std::strerror(errno));
  struct stat info {};
  const bool known = fstat(folder, &info) == 0;
  // Where one user owns all files, nobody can close a folder.
  const bool one_owner = known && shows_one_owner(path, info.st_uid);
  const bool own = known && (info.st_uid == geteuid() || one_owner);
  const bool closed = own && ((info.st_mode & 077) == 0 || fchmod(folder, 0700) == 0 || one_owner);
  const int why = errno;
  close(folder);
  if (closed) return Ok{};
  return refused(known && !own ? why_not_own(info) : std::strerror(why));
}

Result<Ok> write_files(const NamedTexts& files, Readers readers) {
  Result<Ok> written = Ok{};
  std::vector<std::string> temporaries;
  for (const auto& [path, text] : files) {
    if (!written) break;
    auto temporary = temporary_beside(path).string();
    written = write_temporary(temporary, path, text, readers);
    if (written) temporaries.push_back(std::move(temporary));
  }
  for (std::size_t i = 0; written && i < files.size(); ++i) {
    const auto& path = files[i].first;
    if (rename(temporaries[i].c_str(), path.c_str()) != 0)
      written = cannot_write(path, std::strerror(errno));
  }
  if (!written)
    for (const auto& temporary : temporaries) unlink(temporary.c_str());
  return written;
}

Result<Ok> write_file(const std::string& path, const std::string& text, Readers readers) {
  return write_files({{path, text}}, readers);
}

Result<Ok> sync_folder(const std::string& path) {
  const int folder = open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  const bool good = folder >= 0 && (fsync(folder) == 0 || errno == EINVAL || errno == ENOTSUP);
  const int why = errno;
  if (folder >= 0) close(folder);
  if (good) return Ok{};
  return Error{ErrorKind::unavailable, fmt::format("cannot write {}: {}", path, std::strerror(why)),
               ""};
}

Result<Ok> append_lines(const std::string& path, const std::string& lines) {
  const auto refused = [&path] {
    return Error{ErrorKind::unavailable,
                 fmt::format("cannot write {}: {}", path, std::strerror(errno)), ""};
  };
  const int fd = open_run_file(fs::path(path).parent_path(), path, O_RDWR | O_CREAT | O_APPEND);
  if (fd < 0) return refused();
  const bool begins = lseek(fd, 0, SEEK_END) == 0;
  const std::string whole = (ends_within_a_line(fd) ? "\n" : "") + lines;
  const ssize_t wrote = write(fd, whole.data(), whole.size());
  if (wrote >= 0 && static_cast<std::size_t>(wrote) < whole.size()) errno = ENOSPC;
  const bool good = wrote == static_cast<ssize_t>(whole.size()) && fsync(fd) == 0;
  Result<Ok> done = good ? Result<Ok>(Ok{}) : Result<Ok>(refused());
  if (close(fd) != 0 && done) done = refused();
  if (done && begins) done = sync_folder(fs::path(path).parent_path());
  return done;
}

}  // namespace dllaunch
