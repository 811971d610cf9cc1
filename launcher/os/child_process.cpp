#include "launcher/os/child_process.hpp"

#include <fcntl.h>
#include <fmt/core.h>
#include <poll.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <optional>
#include <utility>

#include "support/awake_clock.hpp"

namespace dllaunch {
namespace {

using Clock = AwakeClock;
using std::chrono::milliseconds;

/// A descriptor that closes itself.
class Descriptor {
 public:
  Descriptor() = default;
  explicit Descriptor(int fd) : fd_(fd) {}
  Descriptor(Descriptor&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  ~Descriptor() { close(); }

  int fd() const { return fd_; }
  bool open() const { return fd_ >= 0; }
  void close() {
    if (fd_ >= 0) ::close(std::exchange(fd_, -1));
  }

 private:
  int fd_ = -1;
};

struct Pipe {
  Descriptor read;
  Descriptor write;
};

Result<Pipe> make_pipe() {
  std::array<int, 2> ends{};
  if (pipe2(ends.data(), O_CLOEXEC) != 0) {
    return Error{ErrorKind::unavailable,
                 fmt::format("cannot create a pipe: {}", std::strerror(errno)), ""};
  }
  // Only our end: few programs handle EAGAIN on standard output.
  fcntl(ends[0], F_SETFL, O_NONBLOCK);
  return Pipe{Descriptor(ends[0]), Descriptor(ends[1])};
}

class SpawnSettings {
 public:
  SpawnSettings(const Descriptor& out, const Descriptor& err) {
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_adddup2(&actions, out.fd(), STDOUT_FILENO);
    posix_spawn_file_actions_adddup2(&actions, err.fd(), STDERR_FILENO);

    posix_spawnattr_init(&attributes);
    sigset_t none;
    sigset_t all;
    sigemptyset(&none);
    sigfillset(&all);
    posix_spawnattr_setsigmask(&attributes, &none);
    posix_spawnattr_setsigdefault(&attributes, &all);
    posix_spawnattr_setpgroup(&attributes, 0);
    posix_spawnattr_setflags(
        &attributes, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
  }
  SpawnSettings(const SpawnSettings&) = delete;
  SpawnSettings& operator=(const SpawnSettings&) = delete;
  ~SpawnSettings() {
    posix_spawn_file_actions_destroy(&actions);
    posix_spawnattr_destroy(&attributes);
  }

  posix_spawn_file_actions_t actions{};
  posix_spawnattr_t attributes{};
};

Result<pid_t> spawn(const std::string& program, const std::vector<std::string>& argv,
                    const Descriptor& out, const Descriptor& err) {
  std::vector<char*> arguments;
  arguments.reserve(argv.size() + 1);
  for (const std::string& argument : argv) arguments.push_back(const_cast<char*>(argument.c_str()));
  arguments.push_back(nullptr);

  const SpawnSettings settings(out, err);
  pid_t pid = 0;
  const int error = posix_spawn(&pid, program.c_str(), &settings.actions, &settings.attributes,
                                arguments.data(), environ);
  if (error != 0) {
    return Error{ErrorKind::unavailable,
                 fmt::format("cannot start {}: {}", program, std::strerror(error)), ""};
  }
  return pid;
}

/// Appends the available data. Closes `from` at end of file.
void drain(Descriptor& from, std::string& text, std::size_t most_bytes) {
  std::array<char, 65536> piece{};
  while (from.open() && text.size() <= most_bytes) {
    const ssize_t got = read(from.fd(), piece.data(), piece.size());
    if (got > 0) {
      text.append(piece.data(), static_cast<std::size_t>(got));
    } else if (got < 0 && errno == EINTR) {
      continue;
    } else {
      if (got == 0 || errno != EAGAIN) from.close();
      return;
    }
  }
}

std::optional<int> ended(pid_t pid) {
  int status = 0;
  const pid_t got = waitpid(pid, &status, WNOHANG);
  if (got == 0 || (got < 0 && errno == EINTR)) return std::nullopt;
  if (got < 0) return 1;  // reaped elsewhere: the status is lost, and 0 would mean success
  return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

void kill_group(pid_t pid) {
  kill(-pid, SIGKILL);
  // A process blocked in a dead file system cannot be killed: do not wait for it.
  const auto deadline = Clock::now() + std::chrono::seconds(2);
  while (!ended(pid) && Clock::now() < deadline) poll(nullptr, 0, 5);
}

int milliseconds_to_wait(Clock::time_point deadline, bool output_open) {
  const auto left = std::chrono::duration_cast<milliseconds>(deadline - Clock::now()).count();
  // While output is open, the program's end wakes poll(); afterwards it must be polled for.
  const auto most = output_open ? 50 : 1;
  return static_cast<int>(std::clamp<long long>(left, 0, most));
}

}  // namespace

Result<CommandOutput> run_child(const std::string& program, const std::vector<std::string>& argv,
                                milliseconds limit, std::size_t most_bytes) {
  const auto deadline = Clock::now() + limit;
  auto out = make_pipe();
  if (!out) return std::move(out).error();
  auto err = make_pipe();
  if (!err) return std::move(err).error();
  auto pid = spawn(program, argv, out->write, err->write);
  if (!pid) return std::move(pid).error();
  out->write.close();
  err->write.close();

  CommandOutput output;
  while (true) {
    // Checked before reading, so that everything a finished program wrote is there.
    const auto code = ended(*pid);
    drain(out->read, output.out, most_bytes);
    drain(err->read, output.err, most_bytes);
    if (code) {
      output.exit_code = *code;
      return output;
    }
    if (std::max(output.out.size(), output.err.size()) > most_bytes) {
      kill_group(*pid);
      return Error{ErrorKind::unsatisfiable,
                   fmt::format("{} wrote more than {} MiB", argv[0], most_bytes >> 20), ""};
    }
    if (Clock::now() >= deadline) {
      kill_group(*pid);
      const double seconds = std::chrono::duration<double>(limit).count();
      return Error{ErrorKind::timeout, fmt::format("{} did not end within {} s", argv[0], seconds),
                   ""};
    }
    std::array<pollfd, 2> watched{pollfd{out->read.fd(), POLLIN, 0},
                                  pollfd{err->read.fd(), POLLIN, 0}};
    const bool open = out->read.open() || err->read.open();
    poll_awake(watched.data(), watched.size(), milliseconds_to_wait(deadline, open));
  }
}

}  // namespace dllaunch
