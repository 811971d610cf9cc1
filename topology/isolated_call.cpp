#include "topology/isolated_call.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <exception>
#include <optional>
#include <thread>

#include <fcntl.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fmt/format.h>

namespace dllaunch {
namespace {

using Clock = std::chrono::steady_clock;

// An answer says its length, so that it is known to be whole without the exit status, which a
// SIGCHLD handler of the caller may take away, and without the end of the pipe, which a child
// forked by another thread may hold open.
struct Head {
  char kind;  // of the error, or `is_value`
  std::uint64_t bytes;
};
constexpr char is_value = -1;
constexpr std::uint64_t most_bytes = 256 << 20;
constexpr std::chrono::microseconds longest_pause{10000};

std::string encode(const Result<std::string>& answer) {
  const auto body = answer ? *answer : answer.error().what + '\0' + answer.error().hint;
  Head head{};
  head.kind = answer ? is_value : static_cast<char>(answer.error().kind);
  head.bytes = body.size();
  std::string text(sizeof head, '\0');
  std::memcpy(text.data(), &head, sizeof head);
  return text + body;
}

std::optional<Head> head_of(const std::string& text) {
  Head head{};
  if (text.size() < sizeof head) return std::nullopt;
  std::memcpy(&head, text.data(), sizeof head);
  return head;
}

bool is_whole(const std::string& text) {
  const auto head = head_of(text);
  return head && head->bytes <= most_bytes && text.size() >= sizeof(Head) + head->bytes;
}

Result<std::string> decode(const std::string& text) {
  const auto head = *head_of(text);
  auto body = text.substr(sizeof head, head.bytes);
  if (head.kind == is_value) return body;
  const auto middle = std::min(body.find('\0'), body.size() - 1);
  return Error{static_cast<ErrorKind>(head.kind), body.substr(0, middle), body.substr(middle + 1)};
}

// Damaged input may ask for more memory than the node has.
void limit_memory() {
  constexpr rlim_t more_bytes = rlim_t{2} << 30;
  long pages = 0;
  if (std::FILE* statm = std::fopen("/proc/self/statm", "r"); statm != nullptr) {
    if (std::fscanf(statm, "%ld", &pages) != 1) pages = 0;
    std::fclose(statm);
  }
  if (pages <= 0) return;
  const auto now = static_cast<rlim_t>(pages) * static_cast<rlim_t>(sysconf(_SC_PAGESIZE));
  rlimit limit{};
  if (getrlimit(RLIMIT_AS, &limit) != 0) return;
  limit.rlim_cur = std::min(limit.rlim_max, now + more_bytes);
  setrlimit(RLIMIT_AS, &limit);
}

[[noreturn]] void be_the_child(const std::function<Result<std::string>()>& work, int pipe_end) {
  // A library's complaints are not ours to print, and its crash should leave no core file.
  if (const int null = open("/dev/null", O_RDWR); null >= 0) {
    dup2(null, STDOUT_FILENO);
    dup2(null, STDERR_FILENO);
  }
  const rlimit no_core{0, 0};
  setrlimit(RLIMIT_CORE, &no_core);
  limit_memory();
  for (const int signal : {SIGSEGV, SIGBUS, SIGABRT, SIGFPE, SIGILL, SIGTERM, SIGINT})
    std::signal(signal, SIG_DFL);
  std::signal(SIGPIPE, SIG_IGN);

  std::string answer;
  try {
    answer = encode(work());
  } catch (const std::exception& thrown) {
    answer = encode(Error{ErrorKind::unavailable, thrown.what(), ""});
  }
  for (std::size_t sent = 0; sent < answer.size();) {
    const auto count = write(pipe_end, answer.data() + sent, answer.size() - sent);
    if (count < 0 && errno != EINTR) _exit(1);
    if (count > 0) sent += static_cast<std::size_t>(count);
  }
  _exit(0);  // no destructors and no atexit: they belong to the parent
}

// Reads until the answer is whole or the other end closes; false when `deadline` came first.
bool read_all(int pipe_end, Clock::time_point deadline, std::string& text) {
  std::array<char, 65536> buffer;
  for (;;) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - Clock::now());
    if (left.count() <= 0) return false;
    pollfd waiting{.fd = pipe_end, .events = POLLIN, .revents = 0};
    const int ready = poll(&waiting, 1, static_cast<int>(left.count()));
    if (ready < 0 && errno != EINTR) return true;
    if (ready <= 0) continue;
    const auto count = read(pipe_end, buffer.data(), buffer.size());
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return true;
    text.append(buffer.data(), static_cast<std::size_t>(count));
    if (is_whole(text) || text.size() > most_bytes) return true;
  }
}

// The child's status. A process that a driver holds in the kernel does not even die of SIGKILL: it
// is left behind after a second, for init to collect.
int reap(pid_t child) {
  const auto end = Clock::now() + std::chrono::seconds(1);
  int status = 0;
  for (std::chrono::microseconds pause{50}; Clock::now() < end;
       pause = std::min(pause * 2, longest_pause)) {
    const auto waited = waitpid(child, &status, WNOHANG);
    if (waited == child || (waited < 0 && errno != EINTR)) return status;
    std::this_thread::sleep_for(pause);
  }
  kill(child, SIGKILL);
  return status;
}

}  // namespace

Result<std::string> isolated_call(const std::function<Result<std::string>()>& work,
                                  std::chrono::milliseconds deadline) {
  std::array<int, 2> ends{};
  if (pipe2(ends.data(), O_CLOEXEC) != 0)
    return Error{ErrorKind::unavailable, fmt::format("no pipe: {}", std::strerror(errno)), ""};
  const pid_t child = fork();
  if (child < 0) {
    const int why = errno;
    close(ends[0]);
    close(ends[1]);
    return Error{ErrorKind::unavailable, fmt::format("cannot fork: {}", std::strerror(why)), ""};
  }
  if (child == 0) {
    close(ends[0]);
    be_the_child(work, ends[1]);
  }
  close(ends[1]);
  std::string text;
  const bool in_time = read_all(ends[0], Clock::now() + deadline, text);
  close(ends[0]);
  if (!in_time || text.size() > most_bytes) kill(child, SIGKILL);
  const int status = reap(child);
  if (is_whole(text)) return decode(text);
  if (!in_time)
    return Error{ErrorKind::timeout, fmt::format("no answer after {} ms", deadline.count()), ""};
  if (WIFSIGNALED(status))
    return Error{
        ErrorKind::unavailable,
        fmt::format("crashed with signal {} ({})", WTERMSIG(status), strsignal(WTERMSIG(status))),
        ""};
  return Error{ErrorKind::unavailable, "died without an answer", ""};
}

}  // namespace dllaunch
