#include "support/file_text.hpp"

#include <array>
#include <cerrno>
#include <cstring>

#include <fcntl.h>
#include <unistd.h>

#include <fmt/core.h>

namespace dllaunch {

Result<std::string> read_file_text(const std::string& path) {
  constexpr std::size_t most_bytes = 64 << 20;
  const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  std::string text;
  std::array<char, 65536> buffer;
  ssize_t count = file < 0 ? -1 : 1;
  while (count > 0 && text.size() <= most_bytes) {
    count = read(file, buffer.data(), buffer.size());
    if (count < 0 && errno == EINTR)
      count = 1;
    else if (count > 0)
      text.append(buffer.data(), static_cast<std::size_t>(count));
  }
  const int why = errno;
  if (file >= 0) close(file);
  if (count < 0)
    return Error{ErrorKind::bad_request,
                 fmt::format("cannot read {}: {}", path, std::strerror(why)),
                 "check the name and its permissions"};
  if (text.size() > most_bytes)
    return Error{ErrorKind::bad_request, fmt::format("{} is larger than 64 MiB", path),
                 "give a topology written by lstopo or dllaunch topo --json"};
  return text;
}

}  // namespace dllaunch
