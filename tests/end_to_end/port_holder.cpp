// A program for port tests: rank 0 listens on MASTER_PORT as frameworks do, and tells each peer
// which start it belongs to; other ranks connect and compare. All wait until the file argv[1]
// exists.
#include <netdb.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>

namespace {

constexpr auto patience = std::chrono::seconds(300);
const auto began = std::chrono::steady_clock::now();

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

/// What all ranks of a start share and no other start has.
std::string start() {
  return variable("SLURM_JOB_ID") + "." + variable("SLURM_STEP_ID") + "\n";
}

int fail(const char* what) {
  std::perror(what);
  return 1;
}

bool released(const char* file) {
  return access(file, F_OK) == 0 || std::chrono::steady_clock::now() - began > patience;
}

int listen_on(int port) {
  const int server = socket(AF_INET6, SOCK_STREAM, 0);
  const int on = 1;
  const int off = 0;
  setsockopt(server, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  setsockopt(server, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof off);
  sockaddr_in6 address{};
  address.sin6_family = AF_INET6;
  address.sin6_port = htons(static_cast<in_port_t>(port));
  if (bind(server, reinterpret_cast<sockaddr*>(&address), sizeof address) != 0) return -1;
  return listen(server, 64) == 0 ? server : -1;
}

int lead(const char* release) {
  const int server = listen_on(std::atoi(variable("MASTER_PORT").c_str()));
  if (server < 0) return fail("MASTER_PORT");
  std::printf("PORT %s\n", variable("MASTER_PORT").c_str());
  std::fflush(stdout);
  while (!released(release)) {
    pollfd listener{server, POLLIN, 0};
    if (poll(&listener, 1, 50) <= 0) continue;
    const int client = accept(server, nullptr, nullptr);
    const std::string word = start();
    if (client < 0 || write(client, word.data(), word.size()) < 0) return fail("answer");
    close(client);
  }
  return 0;
}

std::string ask() {
  addrinfo wanted{};
  wanted.ai_socktype = SOCK_STREAM;
  addrinfo* list = nullptr;
  if (getaddrinfo(variable("MASTER_ADDR").c_str(), variable("MASTER_PORT").c_str(), &wanted,
                  &list) != 0)
    return "";
  std::string answer;
  for (const addrinfo* at = list; at != nullptr && answer.empty(); at = at->ai_next) {
    const int client = socket(at->ai_family, SOCK_STREAM, 0);
    std::array<char, 200> text{};
    if (connect(client, at->ai_addr, at->ai_addrlen) == 0 &&
        read(client, text.data(), text.size() - 1) > 0)
      answer = text.data();
    close(client);
  }
  freeaddrinfo(list);
  return answer;
}

int follow(const char* release) {
  while (!released(release)) {
    const std::string answer = ask();
    if (!answer.empty() && answer != start()) {
      std::printf("STRANGER %s", answer.c_str());
      return 1;
    }
    if (answer == start()) {
      std::printf("MET %s\n", variable("MASTER_PORT").c_str());
      std::fflush(stdout);
      while (!released(release)) usleep(20'000);
      return 0;
    }
    usleep(20'000);
  }
  return fail("no listener");
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  return variable("RANK") == "0" ? lead(argv[1]) : follow(argv[1]);
}
