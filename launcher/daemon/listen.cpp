// The daemon's listening sockets.
#include <arpa/inet.h>
#include <fcntl.h>
#include <fmt/core.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "launcher/daemon/http_server.hpp"

namespace dllaunch {
namespace {

constexpr int backlog = 1024;

Error cannot_listen(const std::string& where, int error) {
  return {ErrorKind::unavailable,
          fmt::format("cannot listen on {}: {}", where, std::strerror(error)), ""};
}

}  // namespace

Result<int> listen_at(const std::string& path) {
  const auto slash = path.rfind('/');
  const int folder = open(path.substr(0, slash).c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC);
  const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::string name = path;
  if (name.size() >= sizeof address.sun_path)
    name = fmt::format("/proc/self/fd/{}/{}", folder, path.substr(slash + 1));
  std::copy_n(name.c_str(), std::min(name.size() + 1, sizeof address.sun_path - 1),
              address.sun_path);
  unlink(path.c_str());
  // No client can connect between bind() and chmod(): listen() comes later, and the folder is
  // private.
  const bool done = fd >= 0 && folder >= 0 &&
                    bind(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0 &&
                    chmod(path.c_str(), 0600) == 0 && listen(fd, backlog) == 0;
  const int error = errno;
  if (folder >= 0) close(folder);
  if (done) return fd;
  if (fd >= 0) close(fd);
  return cannot_listen(path, error);
}

Result<std::pair<int, int>> listen_on_loopback(int port) {
  const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons(static_cast<std::uint16_t>(port));
  constexpr int yes = 1;
  socklen_t size = sizeof address;
  auto* raw = reinterpret_cast<sockaddr*>(&address);
  const bool done = fd >= 0 && setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes) == 0 &&
                    bind(fd, raw, size) == 0 && listen(fd, backlog) == 0 &&
                    getsockname(fd, raw, &size) == 0;
  if (done) return std::pair(fd, static_cast<int>(ntohs(address.sin_port)));
  const int error = errno;
  if (fd >= 0) close(fd);
  return cannot_listen(fmt::format("127.0.0.1:{}", port), error);
}

}  // namespace dllaunch
