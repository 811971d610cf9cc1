// Preloaded into a program, makes calls fail as a sick file system does. DLLAUNCH_FAIL is "CALL
// SUFFIX ERRNO FIRST LAST": calls FIRST to LAST (0: all that follow) of CALL (`open` or `fsync`)
// fail for paths that end in SUFFIX. fsync fails only on folders.

#include <dlfcn.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <climits>
#include <cstdarg>
#include <cstdlib>
#include <sstream>
#include <string>
#include <string_view>

namespace {

struct Fault {
  std::string call;
  std::string suffix;
  int error = 0;
  int first = 1;
  int last = 0;
  std::atomic<int> met = 0;

  Fault() {
    const char* text = std::getenv("DLLAUNCH_FAIL");
    if (text != nullptr) std::istringstream(text) >> call >> suffix >> error >> first >> last;
  }
  bool strikes(std::string_view made, std::string_view path) {
    if (made != call || suffix.empty() || !path.ends_with(suffix)) return false;
    const int number = ++met;
    if (number < first || (last > 0 && number > last)) return false;
    errno = error;
    return true;
  }
};

Fault& fault() {
  static auto* const one = new Fault;
  return *one;
}

template <typename Call>
Call* next(const char* name) {
  return reinterpret_cast<Call*>(dlsym(RTLD_NEXT, name));
}

}  // namespace

extern "C" {

int open(const char* path, int flags, ...) {
  static auto* const real = next<int(const char*, int, ...)>("open");
  va_list arguments;
  va_start(arguments, flags);
  const mode_t mode = (flags & O_CREAT) != 0 ? va_arg(arguments, mode_t) : 0;
  va_end(arguments);
  return fault().strikes("open", path) ? -1 : real(path, flags, mode);
}

int fsync(int descriptor) {
  static auto* const real = next<int(int)>("fsync");
  struct stat info {};
  char path[PATH_MAX];
  const std::string link = "/proc/self/fd/" + std::to_string(descriptor);
  const ssize_t size = readlink(link.c_str(), path, sizeof path);
  const bool folder = fstat(descriptor, &info) == 0 && S_ISDIR(info.st_mode);
  const bool fails =
      folder && size > 0 && fault().strikes("fsync", {path, static_cast<std::size_t>(size)});
  return fails ? -1 : real(descriptor);
}

}  // extern "C"
