#include "support/file_text.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <string_view>

#include <fmt/core.h>

namespace dllaunch {
namespace {

Error cannot_read(const std::string& path, int error) {
  return {ErrorKind::unavailable, fmt::format("cannot read {}: {}", path, std::strerror(error)),
          ""};
}

/// `error`: of open_regular_file().
Error cannot_open(const std::string& path, int error, FileLinks links) {
  if (error == EINVAL)
    return {ErrorKind::unavailable,
            fmt::format("cannot read {}: it is a pipe or a device, not a file", path),
            "to read what a command prints, give <(COMMAND) or /dev/stdin"};
  if (error == ELOOP && links == FileLinks::refused)
    return {ErrorKind::unavailable, fmt::format("cannot read {}: it is a link", path), ""};
  return cannot_read(path, error);
}

Error too_large(const std::string& path, std::size_t most_bytes) {
  return {ErrorKind::bad_request, fmt::format("{} is larger than {} MiB", path, most_bytes >> 20),
          ""};
}

/// Elsewhere a pipe replaces an expected file.
bool is_a_stream_of_ours(std::string_view path) {
  constexpr std::string_view devices = "/dev/";
  const bool in_dev = path.starts_with(devices) && path.find('/', devices.size()) == path.npos;
  return in_dev || path.starts_with("/dev/fd/") || path.starts_with("/proc/self/fd/");
}

/// Opening does not wait for a writer, which may be gone; reading does.
int open_stream(const std::string& path) {
  const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
  if (file >= 0) fcntl(file, F_SETFL, fcntl(file, F_GETFL) & ~O_NONBLOCK);
  return file;
}

Result<std::string> text_of(int file, const std::string& path, std::size_t most_bytes) {
  std::string text;
  std::array<char, 65536> piece;
  while (text.size() <= most_bytes) {
    const ssize_t got = read(file, piece.data(), piece.size());
    if (got == 0) return text;
    if (got < 0 && errno != EINTR) return cannot_read(path, errno);
    if (got > 0) text.append(piece.data(), static_cast<std::size_t>(got));
  }
  return too_large(path, most_bytes);
}

}  // namespace

Result<std::string> read_file_text(const std::string& path, FileLinks links,
                                   std::size_t most_bytes) {
  std::uint64_t bytes = 0;
  int file = open_regular_file(path, links, &bytes);
  const int why = errno;
  if (file < 0 && why == EINVAL && links == FileLinks::followed && is_a_stream_of_ours(path))
    file = open_stream(path);
  if (file < 0) return cannot_open(path, why, links);
  Result<std::string> text =
      bytes > most_bytes ? too_large(path, most_bytes) : text_of(file, path, most_bytes);
  close(file);
  return text;
}

}  // namespace dllaunch
