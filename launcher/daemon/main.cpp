// dllaunch-daemon, which `dllaunch daemon start` executes. A separate program, so that other
// commands do not load the libraries of its store and API.
#include <fcntl.h>
#include <fmt/core.h>
#include <poll.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "launcher/base/exit_code.hpp"
#include "launcher/base/terminal_text.hpp"
#include "launcher/daemon/daemon.hpp"
#include "launcher/os/background.hpp"
#include "launcher/os/posix_system.hpp"

namespace {

using namespace dllaunch;

int report(const Error& error) {
  std::fprintf(stderr, "dllaunch: %s\n", terminal_text(error.what).c_str());
  if (!error.hint.empty()) std::fprintf(stderr, "  try: %s\n", terminal_text(error.hint).c_str());
  return error.kind == ErrorKind::bad_request ? exit_code::bad_request : exit_code::environment;
}

Error runs_already(const LockHolder& holder) {
  return {ErrorKind::bad_request,
          fmt::format("a daemon is already running: process {} on {}", holder.pid, holder.host),
          "dllaunch daemon status"};
}

/// Reads the child's start-up report: its last line begins with "ok" or an exit code.
int wait_for_child(int from_child, const std::string& log) {
  constexpr int limit_ms = 20'000;
  std::string said;
  std::array<char, 1024> piece{};
  pollfd watched{from_child, POLLIN, 0};
  while (poll(&watched, 1, limit_ms) > 0) {
    const ssize_t got = read(from_child, piece.data(), piece.size());
    if (got <= 0) break;
    said.append(piece.data(), static_cast<std::size_t>(got));
  }
  const auto line = said.find('\n');
  if (line == std::string::npos) {
    std::fprintf(stderr, "dllaunch: the daemon did not start; see %s\n", log.c_str());
    return exit_code::environment;
  }
  const int code = std::atoi(said.c_str());
  std::fputs(terminal_text(said.c_str() + line + 1).c_str(), code == 0 ? stdout : stderr);
  return std::fflush(stdout) == 0 ? code : exit_code::environment;
}

void say(int to_parent, const std::string& message) {
  if (to_parent >= 0 && write(to_parent, message.data(), message.size()) < 0) return;
}

int serve(System& system, const DaemonPaths& paths, const DaemonSettings& settings,
          const DaemonLock& lock, int to_parent) {
  bool ready = false;
  const auto ended = run_daemon(system, paths, settings, lock, [&](const std::string& message) {
    ready = true;
    if (to_parent < 0) {
      system.print(message);
      std::fflush(stdout);
      return;
    }
    say(to_parent, "0\n" + message);
    close(to_parent);
  });
  if (ended) return 0;
  const int code = report(ended.error());
  if (!ready && to_parent >= 0)
    say(to_parent,
        fmt::format(
            "{}\ndllaunch: {}\n{}", code, ended.error().what,
            ended.error().hint.empty() ? "" : fmt::format("  try: {}\n", ended.error().hint)));
  return code;
}

Result<int> start(System& system, const DaemonSettings& settings) {
  const auto paths = daemon_paths(system);
  if (!paths)
    return Error{ErrorKind::unavailable,
                 "HOME is not set, so there is no folder for the daemon's files",
                 "set XDG_STATE_HOME"};
  if (auto made = make_private(paths->folder); !made) return std::move(made).error();
  if (const auto holder = holder_of(paths->lock())) return runs_already(*holder);
  auto lock = DaemonLock::take(paths->lock(), 5 * renewal_pause / 2);
  if (!lock) {
    const auto holder = holder_of(paths->lock());
    return holder ? runs_already(*holder) : std::move(lock).error();
  }
  if (chdir("/") != 0) return Error{ErrorKind::unavailable, "cannot go to /", ""};
  if (settings.foreground) return serve(system, *paths, settings, *lock, -1);
  std::array<int, 2> ends{};
  if (pipe2(ends.data(), O_CLOEXEC) != 0)
    return Error{ErrorKind::unavailable, "no pipe to the daemon", ""};
  const auto pid = fork_into_background(paths->log());
  if (!pid) return pid.error();
  if (*pid > 0) {
    close(ends[1]);
    return wait_for_child(ends[0], paths->log());
  }
  close(ends[0]);
  lock->sign();
  return serve(system, *paths, settings, *lock, ends[1]);
}

}  // namespace

int main() {
  // Close inherited descriptors: a script's lock would be held forever.
  constexpr int most_files = 1024;
  for (int other = STDERR_FILENO + 1; other < most_files; ++other) close(other);
  int fd = 0;
  do {
    fd = open("/dev/null", O_RDWR);
  } while (fd >= 0 && fd <= STDERR_FILENO);
  if (fd >= 0) close(fd);
  const char* text = std::getenv(settings_variable);
  auto settings = parse_settings(text != nullptr ? text : "");
  unsetenv(settings_variable);
  if (!settings) return report(settings.error());
  PosixSystem system(Console{});
  const auto code = start(system, *settings);
  return code ? *code : report(code.error());
}
