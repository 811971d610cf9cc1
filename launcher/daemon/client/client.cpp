#include "launcher/daemon/client/client.hpp"

#include <fcntl.h>
#include <fmt/core.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <filesystem>
#include <optional>

#include "support/json_fields.hpp"

namespace dllaunch {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t most_bytes = std::size_t{16} << 20;

class Socket {
 public:
  explicit Socket(int fd) : fd_(fd) {}
  Socket(const Socket&) = delete;
  Socket& operator=(const Socket&) = delete;
  ~Socket() {
    if (fd_ >= 0) close(fd_);
  }
  int fd() const { return fd_; }

 private:
  int fd_;
};

Error no_daemon(const std::string& why) {
  return {ErrorKind::unavailable, "no daemon answers: " + why, "dllaunch daemon start"};
}

bool wait_for(int fd, short what, Clock::time_point deadline) {
  const auto left =
      std::chrono::duration_cast<std::chrono::milliseconds>(deadline - Clock::now()).count();
  pollfd watched{fd, what, 0};
  return left > 0 && poll(&watched, 1, static_cast<int>(std::min<long long>(left, 60'000))) > 0;
}

/// A path may exceed the length of a socket address: the folder is then addressed by a descriptor.
int connect_to(int fd, const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::string name = path;
  int folder = -1;
  if (name.size() >= sizeof address.sun_path) {
    const auto slash = path.rfind('/');
    folder = open(path.substr(0, slash).c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC);
    name = fmt::format("/proc/self/fd/{}/{}", folder, path.substr(slash + 1));
  }
  std::copy_n(name.c_str(), std::min(name.size() + 1, sizeof address.sun_path - 1),
              address.sun_path);
  const int done = connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address);
  const int error = errno;
  if (folder >= 0) close(folder);
  errno = error;
  return done;
}

bool write_all(int fd, std::string_view text, Clock::time_point deadline) {
  while (!text.empty()) {
    const ssize_t done = send(fd, text.data(), text.size(), MSG_NOSIGNAL);
    if (done > 0) {
      text.remove_prefix(static_cast<std::size_t>(done));
    } else if ((errno != EAGAIN && errno != EINTR) || !wait_for(fd, POLLOUT, deadline)) {
      return false;
    }
  }
  return true;
}

/// Reads until the daemon closes the connection, which ends every response.
Result<std::string> read_all(int fd, Clock::time_point deadline) {
  std::string text;
  std::array<char, 16384> piece{};
  while (text.size() <= most_bytes) {
    const ssize_t got = recv(fd, piece.data(), piece.size(), 0);
    if (got == 0) return text;
    if (got > 0) {
      text.append(piece.data(), static_cast<std::size_t>(got));
      continue;
    }
    if (errno != EAGAIN && errno != EINTR) return no_daemon(std::strerror(errno));
    if (!wait_for(fd, POLLIN, deadline))
      return Error{ErrorKind::timeout, "the daemon does not answer in time",
                   "dllaunch daemon stop; dllaunch daemon start"};
  }
  return no_daemon("its answer does not end");
}

std::optional<DaemonAnswer> parse_answer(const std::string& text) {
  constexpr std::string_view version = "HTTP/1.1 ";
  const auto body = text.find("\r\n\r\n");
  if (!text.starts_with(version) || body == std::string::npos) return std::nullopt;
  DaemonAnswer answer;
  const auto* digits = text.data() + version.size();
  if (std::from_chars(digits, text.data() + body, answer.status).ec != std::errc())
    return std::nullopt;
  answer.body = text.substr(body + 4);
  return answer;
}

constexpr std::chrono::milliseconds at_once(500);

/// Escapes one component of a URL path.
std::string escaped(const std::string& word) {
  std::string text;
  for (const unsigned char c : word) {
    const bool plain = std::isalnum(c) != 0 || c == '-' || c == '_' || c == '.' || c == '~';
    text += plain ? std::string(1, static_cast<char>(c)) : fmt::format("%{:02X}", c);
  }
  return text;
}

}  // namespace

Result<DaemonAnswer> ask_daemon(const DaemonPaths& paths, const std::string& method,
                                const std::string& path, std::chrono::milliseconds limit) {
  const auto deadline = Clock::now() + limit;
  const Socket socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (socket.fd() < 0) return no_daemon(std::strerror(errno));
  while (connect_to(socket.fd(), paths.socket()) != 0) {
    // EAGAIN: the daemon runs, its accept queue is full.
    if (errno != EAGAIN || Clock::now() >= deadline) return no_daemon(std::strerror(errno));
    poll(nullptr, 0, 5);
  }
  ucred peer{};
  socklen_t size = sizeof peer;
  getsockopt(socket.fd(), SOL_SOCKET, SO_PEERCRED, &peer, &size);
  if (peer.uid != geteuid()) return no_daemon("another user listens there");
  const auto request = fmt::format(
      "{} {} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Length: 0\r\n\r\n", method,
      path);
  if (!write_all(socket.fd(), request, deadline))
    return Error{ErrorKind::timeout, "the daemon does not respond",
                 "dllaunch daemon stop; dllaunch daemon start"};
  auto text = read_all(socket.fd(), deadline);
  if (!text) return std::move(text).error();
  auto answer = parse_answer(*text);
  if (!answer) return no_daemon("what listens there does not speak HTTP");
  answer->pid = peer.pid;
  return *std::move(answer);
}

namespace {

/// Returns the daemon's record of the run; empty object: it has none, or no daemon responds at
/// once.
Json run_of_daemon(System& system, const std::string& run_dir) {
  auto nothing = Json::object();
  const auto paths = daemon_paths(system);
  if (!paths) return nothing;
  const auto name = std::filesystem::path(run_dir).filename().string();
  const auto answer = ask_daemon(*paths, "GET", "/v1/runs/" + escaped(name), at_once);
  if (!answer || answer->status != 200) return nothing;
  auto run = Json::parse(answer->body, nullptr, /*allow_exceptions=*/false);
  if (!run.is_object()) return nothing;
  // Another run may have a directory of the same name.
  return value_at<std::string>(run, "run_dir") == run_dir ? run : nothing;
}

}  // namespace

std::string daemons_word(System& system, const std::string& run_dir) {
  return value_at<std::string>(run_of_daemon(system, run_dir), "decision");
}

bool tell_daemon(System& system, const std::string& run_dir, const std::string& wish) {
  const auto run = run_of_daemon(system, run_dir);
  if (run.value("over", true) || !run.value("id", Json()).is_number()) return false;
  const auto told = ask_daemon(*daemon_paths(system), "POST",
                               fmt::format("/v1/runs/id:{}/{}", run["id"].dump(), wish), at_once);
  return told && told->status == 202;
}

}  // namespace dllaunch
