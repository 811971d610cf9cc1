// Another user who knows what anybody can know of a start: stranger START UID RELEASE. He listens
// at its first agreed ports, holds the name of its local listener, and answers every question with
// an address of his. Prints what he hears, until the file RELEASE exists.
#include <fmt/core.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <chrono>
#include <cstddef>
#include <cstdio>
#include <cstring>
#include <string>
#include <vector>

#include "launcher/rank/rendezvous/messages.hpp"
#include "launcher/rank/rendezvous/start_name.hpp"
#include "support/network/proof.hpp"
#include "support/network/sockets.hpp"

namespace {

using namespace dllaunch;

constexpr auto patience = std::chrono::seconds(300);
const auto began = std::chrono::steady_clock::now();

int local_listener(const std::string& user, const std::string& start) {
  const auto name = fmt::format("dllaunch-{}-0-{}", user, start);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path + 1, name.data(), name.size());
  const auto size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
  const int made = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const auto* generic = reinterpret_cast<const sockaddr*>(&address);
  return bind(made, generic, size) == 0 && listen(made, 8) == 0 ? made : -1;
}

void answer(int listener, const std::string& start) {
  const int guest = accept(listener, nullptr, nullptr);
  std::string line(4096, '\0');
  const auto got = recv(guest, line.data(), line.size(), 0);
  line.resize(got > 0 ? static_cast<std::size_t>(got) : 0);
  std::printf("heard %s", line.c_str());
  std::fflush(stdout);
  const auto evil = to_line({.address = "evil", .port = 29500, .server_port = 1}, start);
  const auto asked = parse_question(body_of(line.substr(0, line.find('\n'))), start);
  const auto words =
      asked ? seal("a guess", "answer", asked->nonce, evil.substr(0, evil.size() - 1)) : evil;
  if (send(guest, words.data(), words.size(), MSG_NOSIGNAL) < 0) std::perror("stranger");
  close(guest);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 4) return 2;
  const std::string start = argv[1];
  std::vector<pollfd> listeners = {{local_listener(argv[2], start), POLLIN, 0}};
  const auto ports = agreed_ports(start);
  for (std::size_t i = 0; i < 3; ++i) listeners.push_back({listen_on(ports[i]), POLLIN, 0});
  for (const auto& listener : listeners) {
    if (listener.fd >= 0) continue;
    std::perror("stranger");
    return 1;
  }
  std::printf("ready\n");
  std::fflush(stdout);
  while (access(argv[3], F_OK) != 0 && std::chrono::steady_clock::now() - began < patience) {
    constexpr int moment_ms = 50;
    if (poll(listeners.data(), listeners.size(), moment_ms) <= 0) continue;
    for (const auto& listener : listeners)
      if (listener.revents != 0) answer(listener.fd, start);
  }
  return 0;
}
