#include "launcher/nodes/node_book.hpp"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <thread>

#include "launcher/nodes/compact_sightings.hpp"
#include "launcher/os/atomic_file.hpp"
#include "launcher/run/run_index.hpp"
#include "support/isolated_call.hpp"
#include "support/network_disk.hpp"

namespace dllaunch {
namespace {

namespace fs = std::filesystem;
using std::chrono::milliseconds;

constexpr milliseconds patience(2000);
constexpr off_t most_bytes = off_t{64} << 20;  // a book that cannot be compacted grows no further
constexpr off_t most_read = 2 * off_t{compact_node_book_at};  // the newest of it

constexpr const char* elsewhere =
    "set DLLAUNCH_NODE_BOOK to another file, or to nothing for no book";

Error refused(const std::string& path) {
  if (errno == ELOOP)
    return {ErrorKind::unavailable, fmt::format("node book {}: it is a symbolic link", path),
            "set DLLAUNCH_NODE_BOOK to the file it leads to"};
  return {ErrorKind::unavailable, fmt::format("node book {}: {}", path, std::strerror(errno)),
          elsewhere};
}

Error grown(const std::string& path, off_t size) {
  return {
      ErrorKind::unavailable,
      fmt::format("node book {}: it has grown to {} MiB and cannot be compacted, and only its "
                  "newest {} MiB are read",
                  path, size >> 20, most_read >> 20),
      "let those who write it write its folder too, where files can be locked, or move it away"};
}

class BookFile {
 public:
  BookFile() = default;
  explicit BookFile(int fd) : fd_(fd) {}
  BookFile(BookFile&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  BookFile& operator=(BookFile&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  ~BookFile() {
    if (fd_ >= 0) close(fd_);
  }
  int fd() const { return fd_; }
  bool is_open() const { return fd_ >= 0; }

 private:
  int fd_ = -1;
};

/// In a folder that its group may write, so may they the book, whatever the umask.
void share_with_group(int fd, const fs::path& folder) {
  struct stat above {};
  if (stat(folder.c_str(), &above) != 0 || (above.st_mode & S_IWGRP) == 0) return;
  if (fchown(fd, static_cast<uid_t>(-1), above.st_gid) == 0) fchmod(fd, 0660);
}

/// False: not all who could use the old file could use the new one.
bool give_access_of(int old, int fd) {
  struct stat before {};
  struct stat now {};
  if (fstat(old, &before) != 0 || fstat(fd, &now) != 0) return false;
  const bool same =
      now.st_gid == before.st_gid || fchown(fd, static_cast<uid_t>(-1), before.st_gid) == 0;
  return same && fchmod(fd, before.st_mode & 0777) == 0;
}

std::string beside(const fs::path& path, const char* ending) {
  return (path.parent_path() / ("." + path.filename().string() + ending)).string();
}

/// The name of a compacted book, which is whole, until it has the book's.
std::string next_of(const fs::path& path) {
  return beside(path, ".next");
}

/// NFS answers from memory, for up to a minute, which file has a name, unless the folder was
/// listed.
void look_anew(const fs::path& folder) {
  if (!lies_on_network(folder.string())) return;
  constexpr int most_names = 4096;  // someone's folder of a million files would take minutes
  std::error_code error;
  fs::directory_iterator entry(folder, error);
  for (int i = 0; i < most_names && !error && entry != fs::directory_iterator(); ++i)
    entry.increment(error);
}

/// Refuses what is no file: it may block forever.
BookFile regular(BookFile file) {
  struct stat what {};
  if (!file.is_open() || (fstat(file.fd(), &what) == 0 && S_ISREG(what.st_mode))) return file;
  errno = EINVAL;
  return {};
}

/// Nor does anyone read a link, to which nobody writes.
BookFile open_to_read(const std::string& path) {
  return regular(
      BookFile(open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC)));
}

/// A link or a device that someone put there is not followed.
BookFile open_book(const NodeBook& book) {
  const fs::path path(book.path);
  if (book.own) make_private_folder(path.parent_path());
  constexpr int flags = O_RDWR | O_APPEND | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC;
  BookFile file(open(path.c_str(), flags));
  if (!file.is_open() && errno == ENOENT) {
    look_anew(path.parent_path());
    // NFS first renames a book that is open on this machine, and then renames the next one into
    // its place: between the two there is no book.
    const bool known = link(next_of(path).c_str(), path.c_str()) == 0 || errno == EEXIST;
    if (known) file = BookFile(open(path.c_str(), flags));
    if (!known) errno = ENOENT;
  }
  if (!file.is_open() && errno == ENOENT) {
    file = BookFile(open(path.c_str(), flags | O_CREAT | O_EXCL, 0600));
    if (file.is_open() && !book.own) share_with_group(file.fd(), path.parent_path());
    if (!file.is_open() && errno == EEXIST) file = BookFile(open(path.c_str(), flags));
  }
  return regular(std::move(file));
}

/// False: there is no lock to be had that other machines see.
bool lock_book(int fd) {
  if (keeps_locks_to_itself(fd)) return false;
  struct flock whole {};
  whole.l_type = F_WRLCK;
  whole.l_whence = SEEK_SET;
  const auto give_up_at = std::chrono::steady_clock::now() + patience;
  while (fcntl(fd, F_OFD_SETLK, &whole) != 0) {
    const bool held = errno == EAGAIN || errno == EACCES || errno == EINTR;
    if (!held || std::chrono::steady_clock::now() >= give_up_at) return false;
    std::this_thread::sleep_for(milliseconds(2));
  }
  return true;
}

/// The file of that name now. What other machines did to it is seen: NFS looks when it opens.
BookFile open_anew(const std::string& path) {
  look_anew(fs::path(path).parent_path());
  return open_to_read(path);
}

/// Whether the name still is that file's.
bool has_its_name(int fd, const std::string& path) {
  const auto now = open_anew(path);
  struct stat ours {};
  struct stat named {};
  return fstat(fd, &ours) == 0 && fstat(now.fd(), &named) == 0 && ours.st_ino == named.st_ino &&
         ours.st_dev == named.st_dev;
}

std::string text_from(int fd, off_t from) {
  std::string text;
  char block[65536];
  while (true) {
    const auto got = pread(fd, block, sizeof block, from);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return text;
    text.append(block, static_cast<std::size_t>(got));
    from += got;
  }
}

off_t size_of(int fd) {
  struct stat file {};
  return fstat(fd, &file) == 0 ? file.st_size : 0;
}

/// One write(); ends a torn line first.
bool write_lines(int fd, const std::string& lines) {
  const auto size = size_of(fd);
  char last = '\n';
  const bool torn = size > 0 && pread(fd, &last, 1, size - 1) == 1 && last != '\n';
  const auto whole = (torn ? "\n" : "") + lines;
  const auto wrote = write(fd, whole.data(), whole.size());
  if (wrote >= 0 && static_cast<std::size_t>(wrote) < whole.size()) errno = ENOSPC;
  if (wrote != static_cast<ssize_t>(whole.size())) return false;
  return fsync(fd) == 0 || errno == EINVAL || errno == ENOTSUP;
}

/// The end of a file that is no book any more: of those who wait for its lock NFS may tell some,
/// also where they look anew, that it has its name still (version 3 sees no two changes of a folder
/// in 4 ms).
constexpr std::string_view left_behind = "{\"left behind\":true}\n";

bool was_left_behind(int fd) {
  return text_from(fd, size_of(fd) - static_cast<off_t>(left_behind.size())) == left_behind;
}

/// A book with those lines, under the next one's name, locked until what came late is moved; or
/// none.
BookFile make_next(const fs::path& path, int old, const std::string& lines) {
  const auto draft = beside(path, ".tmp");
  const auto next = next_of(path);
  for (const auto& left : {draft, next}) unlink(left.c_str());  // by a compaction that was killed
  BookFile file(
      open(draft.c_str(), O_RDWR | O_APPEND | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (!file.is_open()) return {};
  const bool whole =
      give_access_of(old, file.fd()) && write_lines(file.fd(), lines) && lock_book(file.fd());
  // A server may have taken the old file's lock away: names are then another compaction's.
  if (!has_its_name(file.fd(), draft)) return {};
  if (whole && rename(draft.c_str(), next.c_str()) == 0)
    return has_its_name(file.fd(), next) ? std::move(file) : BookFile();
  unlink(draft.c_str());
  return {};
}

/// Of a file that is locked. False: it is as it was, which is as good, or the next one is there for
/// a writer to find.
bool compact_book(const NodeBook& book, int fd, double now, std::size_t most) {
  const fs::path path(book.path);
  const auto end = size_of(fd);
  const auto text = text_from(fd, std::max<off_t>(0, end - most_read));
  const auto read = sightings_in(text);
  auto lines = newest_within(read.newer, most / 2);
  for (const auto& one : compact_sightings(read.all, now, most - lines.size()))
    lines += line_of(one);
  const auto file = make_next(path, fd, lines);
  if (!file.is_open()) return false;
  const auto next = next_of(path);
  if (rename(next.c_str(), path.c_str()) != 0) {
    if (has_its_name(fd, path)) {
      unlink(next.c_str());
      return false;
    }
    // NFS had taken the name from the old file.
    [[maybe_unused]] const int linked = link(next.c_str(), path.c_str());
  }
  // Of writers without a lock.
  const auto late = text_from(fd, end);
  if (!late.empty()) write_lines(file.fd(), late);
  if (!has_its_name(file.fd(), path)) return false;
  unlink(next.c_str());  // rename() does nothing where a writer has linked it to the book's name
  write_lines(fd, std::string(left_behind));
  [[maybe_unused]] const auto durable = sync_folder(path.parent_path());
  return true;
}

}  // namespace

std::optional<NodeBook> find_node_book(System& system, const std::string& of_site) {
  if (const auto named = system.environment(node_book_variable)) {
    if (named->empty()) return std::nullopt;
    return NodeBook{*named, /*own=*/false};
  }
  if (!of_site.empty()) return NodeBook{of_site, /*own=*/false};
  const auto state = state_folder(system);
  if (!state) return std::nullopt;
  return NodeBook{*state + "/nodes.jsonl"};
}

Result<Ok> append_to_node_book(const NodeBook& book, const std::vector<NodeSighting>& seen,
                               double now, std::size_t compact_at) {
  std::string lines;
  for (const auto& one : seen) lines += line_of(one);
  if (lines.empty()) return Ok{};
  // While others compact, a file often loses its name before its lock is free.
  constexpr int tries = 10;
  using Clock = std::chrono::steady_clock;
  const auto begun = Clock::now();
  Clock::duration spent{};
  for (int i = 0; i < tries || spent < patience; ++i) {
    if (i > 0) std::this_thread::sleep_for(milliseconds(20));
    spent = Clock::now() - begun;
    const auto file = open_book(book);
    if (!file.is_open()) return refused(book.path);
    const bool locked = lock_book(file.fd());
    if (!has_its_name(file.fd(), book.path)) continue;  // compacted meanwhile
    // A book that someone brought back is one after all.
    const bool old = was_left_behind(file.fd());
    if (old && spent < patience / 2) continue;
    const auto before = size_of(file.fd());
    if (before >= most_bytes) {
      errno = EFBIG;
      return refused(book.path);
    }
    if (!write_lines(file.fd(), lines)) return refused(book.path);
    const auto size = size_of(file.fd());
    const auto done = [&]() -> Result<Ok> {
      if (size > most_read) return grown(book.path, size);
      return Ok{};
    };
    if (!locked || old) {
      const auto there = text_from(open_anew(book.path).fd(), std::max<off_t>(0, before - 1));
      const bool found = there.find(lines) != std::string::npos;
      if (found && has_its_name(file.fd(), book.path)) return done();
      continue;
    }
    const bool large = static_cast<std::size_t>(size) > compact_at;
    if (large && compact_book(book, file.fd(), now, compact_at / 2)) return Ok{};
    return done();
  }
  errno = EBUSY;
  return refused(book.path);
}

Result<Ok> write_into_node_book(const NodeBook& book, const std::vector<NodeSighting>& seen,
                                double now, milliseconds patience) {
  const auto done = isolated_call(
      [&]() -> Result<std::string> {
        auto appended = append_to_node_book(book, seen, now);
        if (!appended) return std::move(appended).error();
        return std::string();
      },
      patience);
  if (!done) return of_book(book, done.error());
  return Ok{};
}

Error of_book(const NodeBook& book, Error error) {
  if (error.kind != ErrorKind::timeout) return error;
  return {error.kind, fmt::format("node book {}: {}", book.path, error.what), elsewhere};
}

Result<ReadSightings> read_node_book(const NodeBook& book) {
  BookFile file = open_to_read(book.path);
  // A book without a name is under the next one's, unless it has just got its own.
  for (const auto& name : {book.path, next_of(book.path), book.path})
    if (!file.is_open() && errno == ENOENT) file = open_anew(name);
  if (!file.is_open() && errno == ENOENT) return ReadSightings{};
  if (!file.is_open()) return refused(book.path);
  return sightings_in(text_from(file.fd(), std::max<off_t>(0, size_of(file.fd()) - most_read)));
}

}  // namespace dllaunch
