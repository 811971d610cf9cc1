// Preloaded into a program, records its operations on files below DLLAUNCH_RECORD_FOLDER in the
// file DLLAUNCH_RECORD_LOG, which crash_states.hpp reads.
//
// A record is kind, path, other path, offset and size, each terminated by a zero byte, then `size`
// bytes. Paths are relative to the folder. Calls not wrapped here (fopen, mmap, ...) are missed:
// the reader detects that by comparing its replay with the folder.

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <string>
#include <string_view>

namespace {

struct Recorder {
  std::string folder;
  int log = -1;
  std::recursive_mutex mutex;

  Recorder() {
    const char* below = std::getenv("DLLAUNCH_RECORD_FOLDER");
    const char* into = std::getenv("DLLAUNCH_RECORD_LOG");
    if (below == nullptr || into == nullptr) return;
    folder = below;
    log = static_cast<int>(
        syscall(SYS_openat, AT_FDCWD, into, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600));
  }
};

/// Never destroyed: threads and destructors write files until the process ends.
Recorder& recorder() {
  static auto* const one = new Recorder;
  return *one;
}

std::string path_of(int descriptor) {
  char found[PATH_MAX];
  const std::string link = "/proc/self/fd/" + std::to_string(descriptor);
  const ssize_t size = readlink(link.c_str(), found, sizeof found);
  return size < 0 ? "" : std::string(found, static_cast<std::size_t>(size));
}

std::string absolute(int folder, const char* path) {
  if (*path == '/') return path;
  char here[PATH_MAX];
  const std::string base =
      folder == AT_FDCWD ? (getcwd(here, sizeof here) != nullptr ? here : "") : path_of(folder);
  return base + "/" + path;
}

/// Makes `path` relative to the folder; false if it is not below it.
bool below(std::string& path) {
  const std::string& folder = recorder().folder;
  if (recorder().log < 0 || path.rfind(folder, 0) != 0) return false;
  if (path.size() > folder.size() && path[folder.size()] != '/') return false;
  path.erase(0, std::min(path.size(), folder.size() + 1));
  return true;
}

void record(std::string_view kind, std::string path, std::string other = "", off_t offset = 0,
            std::string_view data = "") {
  if (!below(path)) return;
  if ((kind == "rename" || kind == "exchange" || kind == "link") && !below(other)) std::abort();
  std::string text(kind);
  for (const auto& field : {path, other, std::to_string(offset), std::to_string(data.size())}) {
    text += '\0' + field;
  }
  text += '\0';
  text += data;
  const long written = syscall(SYS_write, recorder().log, text.data(), text.size());
  if (written != static_cast<long>(text.size())) std::abort();
}

/// Keeps records in order, and errno as the call left it.
class Recording {
 public:
  Recording() : lock_(recorder().mutex) {}
  ~Recording() { errno = error_; }
  Recording(const Recording&) = delete;
  Recording& operator=(const Recording&) = delete;

  template <typename... Arguments>
  long call(long number, Arguments... arguments) {
    const long result = syscall(number, arguments...);
    error_ = errno;
    return result;
  }

 private:
  std::lock_guard<std::recursive_mutex> lock_;
  int error_ = errno;
};

int open_recorded(int folder, const char* path, int flags, mode_t mode) {
  Recording now;
  const long opened = now.call(SYS_openat, folder, path, flags, mode);
  if (opened >= 0 && (flags & O_CREAT) != 0) record("create", absolute(folder, path));
  if (opened >= 0 && (flags & O_TRUNC) != 0) record("truncate", absolute(folder, path));
  return static_cast<int>(opened);
}

int rename_recorded(int from_folder, const char* from, int to_folder, const char* to,
                    unsigned flags) {
  Recording now;
  const std::string source = absolute(from_folder, from);
  const std::string target = absolute(to_folder, to);
  const long failed = now.call(SYS_renameat2, from_folder, from, to_folder, to, flags);
  const bool exchange = (flags & RENAME_EXCHANGE) != 0;
  if (failed == 0) record(exchange ? "exchange" : "rename", source, target);
  return static_cast<int>(failed);
}

int unlink_recorded(int folder, const char* path, int flags) {
  Recording now;
  const std::string gone = absolute(folder, path);
  const long failed = now.call(SYS_unlinkat, folder, path, flags);
  if (failed == 0) record("unlink", gone);
  return static_cast<int>(failed);
}

mode_t mode_of(int flags, va_list arguments) {
  return (flags & O_CREAT) != 0 || (flags & O_TMPFILE) == O_TMPFILE ? va_arg(arguments, mode_t) : 0;
}

}  // namespace

extern "C" {

/// Called by the recorded program: adds `text` to the records.
void dllaunch_record_note(const char* text) {
  const Recording now;
  record("note", recorder().folder, text);
}

int open(const char* path, int flags, ...) {
  va_list arguments;
  va_start(arguments, flags);
  const mode_t mode = mode_of(flags, arguments);
  va_end(arguments);
  return open_recorded(AT_FDCWD, path, flags, mode);
}

int openat(int folder, const char* path, int flags, ...) {
  va_list arguments;
  va_start(arguments, flags);
  const mode_t mode = mode_of(flags, arguments);
  va_end(arguments);
  return open_recorded(folder, path, flags, mode);
}

int open64(const char* path, int flags, ...) __attribute__((alias("open")));
int openat64(int folder, const char* path, int flags, ...) __attribute__((alias("openat")));

ssize_t write(int descriptor, const void* data, size_t size) {
  Recording now;
  const long written = now.call(SYS_write, descriptor, data, size);
  if (written > 0) {
    record("write", path_of(descriptor), "", lseek(descriptor, 0, SEEK_CUR) - written,
           {static_cast<const char*>(data), static_cast<std::size_t>(written)});
  }
  return written;
}

ssize_t pwrite(int descriptor, const void* data, size_t size, off_t offset) {
  Recording now;
  const long written = now.call(SYS_pwrite64, descriptor, data, size, offset);
  if (written > 0) {
    record("write", path_of(descriptor), "", offset,
           {static_cast<const char*>(data), static_cast<std::size_t>(written)});
  }
  return written;
}

ssize_t pwrite64(int descriptor, const void* data, size_t size, off_t offset)
    __attribute__((alias("pwrite")));

int ftruncate(int descriptor, off_t size) noexcept {
  Recording now;
  const long failed = now.call(SYS_ftruncate, descriptor, size);
  if (failed == 0) record("truncate", path_of(descriptor), "", size);
  return static_cast<int>(failed);
}

int ftruncate64(int descriptor, off_t size) noexcept __attribute__((alias("ftruncate")));

int fsync(int descriptor) {
  Recording now;
  const long failed = now.call(SYS_fsync, descriptor);
  if (failed == 0) record("sync", path_of(descriptor));
  return static_cast<int>(failed);
}

int fdatasync(int descriptor) {
  Recording now;
  const long failed = now.call(SYS_fdatasync, descriptor);
  if (failed == 0) record("sync", path_of(descriptor));
  return static_cast<int>(failed);
}

int rename(const char* from, const char* to) noexcept {
  return rename_recorded(AT_FDCWD, from, AT_FDCWD, to, 0);
}

int renameat(int from_folder, const char* from, int to_folder, const char* to) noexcept {
  return rename_recorded(from_folder, from, to_folder, to, 0);
}

int renameat2(int from_folder, const char* from, int to_folder, const char* to,
              unsigned flags) noexcept {
  return rename_recorded(from_folder, from, to_folder, to, flags);
}

int link(const char* from, const char* to) noexcept {
  Recording now;
  const long failed = now.call(SYS_linkat, AT_FDCWD, from, AT_FDCWD, to, 0);
  if (failed == 0) record("link", absolute(AT_FDCWD, from), absolute(AT_FDCWD, to));
  return static_cast<int>(failed);
}

int symlink(const char* target, const char* path) noexcept {
  Recording now;
  const long failed = now.call(SYS_symlinkat, target, AT_FDCWD, path);
  if (failed == 0) record("symlink", absolute(AT_FDCWD, path), target);
  return static_cast<int>(failed);
}

int unlink(const char* path) noexcept {
  return unlink_recorded(AT_FDCWD, path, 0);
}

int unlinkat(int folder, const char* path, int flags) noexcept {
  return unlink_recorded(folder, path, flags);
}

int rmdir(const char* path) noexcept {
  return unlink_recorded(AT_FDCWD, path, AT_REMOVEDIR);
}

int remove(const char* path) noexcept {
  const int failed = unlink_recorded(AT_FDCWD, path, 0);
  if (failed == 0 || (errno != EISDIR && errno != EPERM)) return failed;
  return unlink_recorded(AT_FDCWD, path, AT_REMOVEDIR);
}

int mkdir(const char* path, mode_t mode) noexcept {
  Recording now;
  const long failed = now.call(SYS_mkdirat, AT_FDCWD, path, mode);
  if (failed == 0) record("mkdir", absolute(AT_FDCWD, path));
  return static_cast<int>(failed);
}

}  // extern "C"
