#include "support/regular_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

namespace dllaunch {

int open_regular_file(const std::string& path, FileLinks links, std::uint64_t* bytes) {
  const int no_links = links == FileLinks::refused ? O_NOFOLLOW : 0;
  const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY | no_links);
  if (file < 0) return -1;
  struct stat info {};
  const bool regular = fstat(file, &info) == 0 && S_ISREG(info.st_mode);
  if (regular && bytes != nullptr) *bytes = static_cast<std::uint64_t>(info.st_size);
  if (regular) return file;
  close(file);
  errno = S_ISDIR(info.st_mode) ? EISDIR : EINVAL;
  return -1;
}

std::string bytes_at(int file, std::uint64_t from, std::uint64_t most) {
  std::string text(static_cast<std::size_t>(most), '\0');
  std::size_t filled = 0;
  while (filled < text.size()) {
    const ssize_t got =
        pread(file, text.data() + filled, text.size() - filled, static_cast<off_t>(from + filled));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) break;
    filled += static_cast<std::size_t>(got);
  }
  text.resize(filled);
  return text;
}

}  // namespace dllaunch
