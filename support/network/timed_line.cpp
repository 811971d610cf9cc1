#include "support/network/timed_line.hpp"

#include <poll.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <vector>

#include "support/awake_clock.hpp"
#include "support/network/sockets.hpp"

namespace dllaunch {
namespace {

using Clock = AwakeClock;

constexpr std::size_t longest_line = 512;

}  // namespace

TimedLine::~TimedLine() {
  close(socket_);
}

void TimedLine::wait_at_most(std::chrono::milliseconds limit) {
  limit_ = limit;
  const auto micro = std::chrono::duration_cast<std::chrono::microseconds>(limit).count();
  const timeval time{static_cast<time_t>(micro / 1'000'000),
                     static_cast<suseconds_t>(micro % 1'000'000)};
  setsockopt(socket_, SOL_SOCKET, SO_RCVTIMEO, &time, sizeof time);
  setsockopt(socket_, SOL_SOCKET, SO_SNDTIMEO, &time, sizeof time);
}

bool TimedLine::say(std::string_view text) const {
  while (!text.empty()) {
    const auto count = send(socket_, text.data(), text.size(), MSG_NOSIGNAL);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return false;
    text.remove_prefix(static_cast<std::size_t>(count));
  }
  return true;
}

std::string TimedLine::hear() const {
  std::string text;
  const auto until = Clock::now() + limit_;
  // Byte by byte, as the following data belongs to the caller.
  for (char c = 0; text.size() < longest_line && Clock::now() < until;) {
    pollfd one{socket_, POLLIN, 0};
    const int ready = poll_awake(&one, 1, milliseconds_until(until));
    const auto count = ready > 0 ? recv(socket_, &c, 1, 0) : ready;
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return "";
    if (c == '\n') return text;
    text += c;
  }
  return "";
}

bool TimedLine::take(std::size_t bytes) const {
  std::vector<char> buffer(std::size_t{64} << 10);
  while (bytes > 0) {
    const auto count = recv(socket_, buffer.data(), std::min(bytes, buffer.size()), 0);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return false;
    bytes -= static_cast<std::size_t>(count);
  }
  return true;
}

}  // namespace dllaunch
