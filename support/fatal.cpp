#include "support/fatal.hpp"

#include <fmt/core.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <cstddef>
#include <cstdio>

#include "support/signal_stack.hpp"

namespace dllaunch {
namespace {

constexpr std::size_t longest_line = 4096;  // PIPE_BUF: lines of several ranks do not mix
constexpr unsigned flush_seconds = 2;

// Plain arrays, not strings: die() may run while the heap is corrupt or static objects are being
// destroyed.
std::array<char, 256> identity = {};

/// Drops the build machine's own folders: "mpi/mpi.cpp".
std::string_view last_two_components(std::string_view path) {
  const auto last = path.rfind('/');
  if (last == std::string_view::npos || last == 0) return path;
  const auto before = path.rfind('/', last - 1);
  return before == std::string_view::npos ? path : path.substr(before + 1);
}

void write_all(const char* data, std::size_t size) {
  while (size > 0) {
    const ssize_t written = ::write(STDERR_FILENO, data, size);
    if (written <= 0) return;
    data += written;
    size -= static_cast<std::size_t>(written);
  }
}

}  // namespace

void leave_within(unsigned seconds) {
  handle_signal(SIGALRM, [](int) { ::_exit(fatal_exit_code); });
  sigset_t alarm_only;
  ::sigemptyset(&alarm_only);
  ::sigaddset(&alarm_only, SIGALRM);
  ::pthread_sigmask(SIG_UNBLOCK, &alarm_only, nullptr);
  ::alarm(seconds);
}

void set_fatal_identity(int rank, std::string_view host) {
  const auto end =
      fmt::format_to_n(identity.data(), identity.size() - 1, "rank {} on {}", rank, host);
  *end.out = '\0';
}

void die(std::string_view what, std::string_view why, Here here) {
  std::array<char, longest_line> line;
  const std::string_view who = identity[0] == '\0' ? "dllaunch" : identity.data();
  auto end = fmt::format_to_n(line.data(), line.size() - 128, "{}: {}: {}", who, what, why).out;
  end = fmt::format_to_n(end, 126, " ({}:{})", last_two_components(here.file), here.line).out;
  for (char* c = line.data(); c != end; ++c) {
    if (*c == '\n' || *c == '\r') *c = ' ';
  }
  *end++ = '\n';
  // Flushes stdout, but a reader that no longer reads must not keep this rank alive.
  leave_within(flush_seconds);
  write_all(line.data(), static_cast<std::size_t>(end - line.data()));
  std::fflush(nullptr);
  ::_exit(fatal_exit_code);
}

}  // namespace dllaunch
