#include "launcher/rank/rendezvous/local_listener.hpp"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <fstream>
#include <sstream>

#include "support/network/proof.hpp"
#include "support/network/sockets.hpp"

namespace dllaunch {
namespace {

constexpr std::size_t longest_usual_name = 74;  // leaves room for a dot and a nonce

std::string usual_name(const std::string& start_name, int node) {
  auto name = fmt::format("dllaunch-{}-{}-{}", geteuid(), node, start_name);
  name.resize(std::min(name.size(), longest_usual_name));
  return name;
}

struct LocalAddress {
  explicit LocalAddress(const std::string& name) {
    address.sun_family = AF_UNIX;
    // A leading NUL makes it abstract.
    const auto length = std::min(name.size(), sizeof address.sun_path - 1);
    std::memcpy(address.sun_path + 1, name.data(), length);
    size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + length);
  }
  const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&address); }

  sockaddr_un address{};
  socklen_t size = 0;
};

int new_socket() {
  return socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
}

int listening_at(const std::string& name) {
  const LocalAddress local(name);
  return bound_and_listening(new_socket(), local.get(), local.size);
}

/// Returns -1 if there is no listener (ECONNREFUSED), its backlog is full (EAGAIN: another user's
/// process may never accept), or it belongs to another user (EPERM).
int connected_at(const std::string& name) {
  const LocalAddress local(name);
  const int made = new_socket();
  if (made < 0) return -1;
  if (connect(made, local.get(), local.size) != 0) return closed_with_reason(made);
  if (!is_ours(made)) {
    errno = EPERM;
    return closed_with_reason(made);
  }
  fcntl(made, F_SETFL, fcntl(made, F_GETFL) & ~O_NONBLOCK);
  return made;
}

}  // namespace

bool is_ours(int socket) {
  ucred peer{};
  socklen_t size = sizeof peer;
  return getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0 && peer.uid == geteuid();
}

std::vector<std::string> listening_names(std::istream& sockets, const std::string& beginning) {
  std::vector<std::string> names;
  for (std::string line; std::getline(sockets, line);) {
    // Num RefCount Protocol Flags Type St Inode Path
    std::istringstream fields(line);
    std::string skipped;
    std::string flags;
    std::string path;
    fields >> skipped >> skipped >> skipped >> flags >> skipped >> skipped >> skipped >> path;
    const bool listens = flags == "00010000";
    if (listens && path.starts_with("@" + beginning)) names.push_back(path.substr(1));
  }
  return names;
}

int listen_here(const std::string& start_name, int node) {
  const auto name = usual_name(start_name, node);
  const int made = listening_at(name);
  if (made >= 0 || errno != EADDRINUSE) return made;
  const int there = connected_at(name);
  if (there >= 0) {
    close(there);
    errno = EADDRINUSE;
    return -1;
  }
  return listening_at(name + "." + new_nonce());
}

int connect_here(const std::string& start_name, int node, bool look_around) {
  const auto name = usual_name(start_name, node);
  const int there = connected_at(name);
  if (there >= 0 || (errno == ECONNREFUSED && !look_around)) return there;
  std::ifstream sockets("/proc/net/unix");
  for (const auto& other : listening_names(sockets, name + ".")) {
    const int found = connected_at(other);
    if (found >= 0) return found;
  }
  return -1;
}

}  // namespace dllaunch
