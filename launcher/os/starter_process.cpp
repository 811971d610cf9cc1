#include "launcher/os/starter_process.hpp"

#include <fcntl.h>
#include <fmt/core.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>

namespace dllaunch {
namespace {

constexpr std::size_t most_kept = 65536;

/// Ignores errors: an unwritable log is no reason to stop.
void write_all(std::string_view text) {
  while (!text.empty()) {
    const ssize_t wrote = write(STDERR_FILENO, text.data(), text.size());
    if (wrote < 0 && errno == EINTR) continue;
    if (wrote <= 0) return;
    text.remove_prefix(static_cast<std::size_t>(wrote));
  }
}

}  // namespace

Result<StarterProcess> StarterProcess::start(
    const std::string& program, const std::vector<std::string>& argv,
    std::vector<std::pair<std::string, std::string>> environment) {
  std::array<int, 2> ends{};
  if (pipe2(ends.data(), O_CLOEXEC) != 0)
    return Error{ErrorKind::unavailable,
                 fmt::format("cannot create a pipe: {}", std::strerror(errno)), ""};
  fcntl(ends[0], F_SETFL, O_NONBLOCK);
  auto process = OwnedProcess::start({.program = program,
                                      .argv = argv,
                                      .environment = std::move(environment),
                                      .error_fd = ends[1]});
  close(ends[1]);
  if (!process) {
    close(ends[0]);
    return std::move(process).error();
  }
  return StarterProcess(*std::move(process), ends[0]);
}

StarterProcess::StarterProcess(StarterProcess&& other) noexcept
    : process_(std::move(other.process_)),
      stderr_fd_(std::exchange(other.stderr_fd_, -1)),
      first_(std::move(other.first_)),
      last_(std::move(other.last_)) {}

StarterProcess::~StarterProcess() {
  if (stderr_fd_ >= 0) close(stderr_fd_);
}

void StarterProcess::pass_on_output(bool ended) {
  // Background processes may keep the pipe open forever.
  constexpr int patience_ms = 100;
  constexpr std::size_t most_at_once = std::size_t{1} << 20;
  const auto give_up_at = std::chrono::steady_clock::now() + std::chrono::seconds(1);
  std::array<char, 16384> block{};
  std::size_t passed = 0;
  while (stderr_fd_ >= 0) {
    // A process that writes as fast as we read must not starve everything else.
    const bool enough =
        ended ? std::chrono::steady_clock::now() > give_up_at : passed > most_at_once;
    if (enough) return;
    const ssize_t got = read(stderr_fd_, block.data(), block.size());
    if (got > 0) {
      const std::string_view piece(block.data(), static_cast<std::size_t>(got));
      passed += piece.size();
      keep(piece);
      write_all(piece);
      continue;
    }
    if (got < 0 && errno == EINTR) continue;
    if (got < 0 && errno == EAGAIN) {
      pollfd more{.fd = stderr_fd_, .events = POLLIN, .revents = 0};
      if (ended && ::poll(&more, 1, patience_ms) > 0) continue;
      return;
    }
    close(std::exchange(stderr_fd_, -1));
  }
}

void StarterProcess::keep(std::string_view piece) {
  const auto take = std::min(piece.size(), most_kept - first_.size());
  first_ += piece.substr(0, take);
  last_ += piece.substr(take);
  if (last_.size() > 2 * most_kept) last_.erase(0, last_.size() - most_kept);
}

std::string StarterProcess::output() const {
  return first_ + last_.substr(last_.size() - std::min(last_.size(), most_kept));
}

void StarterProcess::kill_group() const {
  process_.send(SIGKILL);
  if (process_.pid() > 0) kill(-process_.pid(), SIGKILL);
}

}  // namespace dllaunch
