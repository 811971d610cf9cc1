#include "launcher/os/dialogue.hpp"

#include <fcntl.h>
#include <fmt/core.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <utility>

#include "support/awake_clock.hpp"

namespace dllaunch {
namespace {

using Clock = AwakeClock;

constexpr std::size_t longest_line = std::size_t{1} << 20;

void close_end(int& end) {
  if (end >= 0) ::close(std::exchange(end, -1));
}

int milliseconds_left(Clock::time_point deadline) {
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - Clock::now()).count();
  return static_cast<int>(std::clamp<std::int64_t>(left, 0, 1'000'000));
}

}  // namespace

Result<Dialogue> Dialogue::start(const std::vector<std::string>& argv) {
  std::array<int, 2> in = {-1, -1};
  std::array<int, 2> out = {-1, -1};
  const bool piped = pipe2(in.data(), O_CLOEXEC) == 0 && pipe2(out.data(), O_CLOEXEC) == 0;
  auto process = piped ? OwnedProcess::start({.program = argv.front(),
                                              .argv = argv,
                                              .environment = {},
                                              .input_fd = in[0],
                                              .output_fd = out[1],
                                              .error_fd = out[1],
                                              .signal_at_our_death = SIGKILL})
                       : Result<OwnedProcess>(Error{
                             ErrorKind::unavailable,
                             fmt::format("cannot create a pipe: {}", std::strerror(errno)), ""});
  close_end(in[0]);
  close_end(out[1]);
  if (!process) {
    close_end(in[1]);
    close_end(out[0]);
    return std::move(process).error();
  }
  for (const int end : {in[1], out[0]}) fcntl(end, F_SETFL, O_NONBLOCK);
  return Dialogue(*std::move(process), in[1], out[0]);
}

Dialogue::Dialogue(Dialogue&& other) noexcept
    : process_(std::move(other.process_)),
      input_(std::exchange(other.input_, -1)),
      output_(std::exchange(other.output_, -1)),
      heard_(std::move(other.heard_)) {}

Dialogue::~Dialogue() {
  close_end(input_);
  close_end(output_);
}

void Dialogue::say_no_more() {
  close_end(input_);
}

bool Dialogue::say(std::string_view text) {
  const auto deadline = Clock::now() + std::chrono::seconds(1);
  // Whoever has gone must not take us along.
  struct sigaction ignore {};
  struct sigaction before {};
  ignore.sa_handler = SIG_IGN;
  sigaction(SIGPIPE, &ignore, &before);
  while (input_ >= 0 && !text.empty()) {
    const auto count = write(input_, text.data(), text.size());
    if (count > 0) {
      text.remove_prefix(static_cast<std::size_t>(count));
    } else if (count < 0 && errno == EAGAIN && Clock::now() < deadline) {
      pollfd one{input_, POLLOUT, 0};
      poll_awake(&one, 1, milliseconds_left(deadline));
    } else if (errno != EINTR) {
      close_end(input_);
    }
  }
  sigaction(SIGPIPE, &before, nullptr);
  return text.empty();
}

std::optional<std::string> Dialogue::hear(Clock::time_point deadline) {
  while (true) {
    if (const auto end = heard_.find('\n'); end != std::string::npos) {
      auto line = heard_.substr(0, end);
      heard_.erase(0, end + 1);
      return line;
    }
    if (heard_.size() > longest_line) close_end(output_);
    // A program that never stops writing must not hold up its reader.
    if (output_ < 0 || Clock::now() >= deadline) return std::nullopt;
    pollfd one{output_, POLLIN, 0};
    const int ready = poll_awake(&one, 1, milliseconds_left(deadline));
    if (ready == 0 || (ready < 0 && errno != EINTR)) return std::nullopt;
    if (ready < 0) continue;
    std::array<char, 16384> piece{};
    const auto count = read(output_, piece.data(), piece.size());
    if (count > 0)
      heard_.append(piece.data(), static_cast<std::size_t>(count));
    else if (count == 0 || (errno != EINTR && errno != EAGAIN))
      close_end(output_);
  }
}

}  // namespace dllaunch
