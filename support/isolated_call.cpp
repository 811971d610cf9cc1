#include "support/isolated_call.hpp"

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

#include <fmt/core.h>

#include "support/awake_clock.hpp"

namespace dllaunch {
namespace {

using Clock = AwakeClock;

// An answer carries its length, so its end is known without the exit status and without EOF. A
// SIGCHLD handler of the caller may consume the status, and a child forked by another thread may
// hold the pipe open.
struct Head {
  char kind;  // an ErrorKind, or `is_value`
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

// Damaged input may request more memory than the node has.
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

[[noreturn]] void be_the_child(const IsolatedCall& call, int pipe_end) {
  // The library's own output is dropped, and a crash leaves no core file.
  if (const int null = open("/dev/null", O_RDWR); null >= 0) {
    dup2(null, STDOUT_FILENO);
    dup2(null, STDERR_FILENO);
  }
  const rlimit no_core{0, 0};
  setrlimit(RLIMIT_CORE, &no_core);
  if (call.bounded_memory) limit_memory();
  for (const int signal : {SIGSEGV, SIGBUS, SIGABRT, SIGFPE, SIGILL, SIGTERM, SIGINT})
    std::signal(signal, SIG_DFL);
  std::signal(SIGPIPE, SIG_IGN);

  std::string answer;
  try {
    answer = encode(call.work());
  } catch (const std::exception& thrown) {
    answer = encode(Error{ErrorKind::unavailable, thrown.what(), ""});
  }
  for (std::size_t sent = 0; sent < answer.size();) {
    const auto count = write(pipe_end, answer.data() + sent, answer.size() - sent);
    if (count < 0 && errno != EINTR) _exit(1);
    if (count > 0) sent += static_cast<std::size_t>(count);
  }
  _exit(0);  // no destructors, no atexit: they belong to the parent
}

/// A started call and its result so far.
struct Started {
  pid_t child = -1;  // -1: none to wait for
  int pipe_end = -1;
  Clock::time_point deadline = {};
  std::string text = {};
  std::string trouble = {};  // why it could not be started
  bool late = false;
  int status = 0;
};

Started start(const IsolatedCall& call, Clock::time_point now) {
  Started started{.deadline = now + call.deadline};
  std::array<int, 2> ends{};
  if (pipe2(ends.data(), O_CLOEXEC) != 0) {
    started.trouble = fmt::format("no pipe: {}", std::strerror(errno));
    return started;
  }
  started.child = fork();
  if (started.child == 0) {
    close(ends[0]);
    be_the_child(call, ends[1]);
  }
  close(ends[1]);
  if (started.child < 0) {
    started.trouble = fmt::format("cannot fork: {}", std::strerror(errno));
    close(ends[0]);
    return started;
  }
  started.pipe_end = ends[0];
  return started;
}

/// Closes the pipe; the rest of the answer is discarded.
void finish(Started& call) {
  close(call.pipe_end);
  call.pipe_end = -1;
  if (call.late || call.text.size() > most_bytes) kill(call.child, SIGKILL);
}

/// Reads what is available, until the answer is complete or the pipe is closed.
void read_some(Started& call) {
  std::array<char, 65536> buffer;
  const auto count = read(call.pipe_end, buffer.data(), buffer.size());
  if (count < 0 && errno == EINTR) return;
  if (count > 0) call.text.append(buffer.data(), static_cast<std::size_t>(count));
  if (count <= 0 || is_whole(call.text) || call.text.size() > most_bytes) finish(call);
}

/// Reads until each call has answered, closed its pipe or passed its deadline.
void read_all(std::vector<Started>& calls) {
  for (;;) {
    std::vector<pollfd> waiting;
    std::vector<Started*> whose;
    auto next = Clock::time_point::max();
    for (auto& call : calls) {
      if (call.pipe_end >= 0 && Clock::now() >= call.deadline) {
        call.late = true;
        finish(call);
      }
      if (call.pipe_end < 0) continue;
      waiting.push_back({.fd = call.pipe_end, .events = POLLIN, .revents = 0});
      whose.push_back(&call);
      next = std::min(next, call.deadline);
    }
    if (waiting.empty()) return;
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(next - Clock::now()).count();
    const int ready = poll_awake(waiting.data(), waiting.size(),
                                 static_cast<int>(std::clamp<std::int64_t>(left, 0, 1000)));
    if (ready < 0 && errno != EINTR) {
      for (auto* call : whose) {
        call->late = true;
        finish(*call);
      }
      return;
    }
    if (ready <= 0) continue;
    for (std::size_t i = 0; i < waiting.size(); ++i)
      if (waiting[i].revents != 0) read_some(*whose[i]);
  }
}

bool has_ended(Started& call) {
  const auto waited = waitpid(call.child, &call.status, WNOHANG);
  return waited == call.child || (waited < 0 && errno != EINTR);
}

// SIGKILL does not end a process that is blocked in a driver. After a second it is left for init to
// reap.
void reap(std::vector<Started>& calls) {
  const auto end = Clock::now() + std::chrono::seconds(1);
  for (std::chrono::microseconds pause{50};; pause = std::min(pause * 2, longest_pause)) {
    bool any = false;
    for (auto& call : calls) {
      if (call.child < 0) continue;
      if (has_ended(call))
        call.child = -1;
      else
        any = true;
    }
    if (!any) return;
    if (Clock::now() >= end) break;
    std::this_thread::sleep_for(pause);
  }
  for (const auto& call : calls)
    if (call.child > 0) kill(call.child, SIGKILL);
}

Result<std::string> outcome(const Started& call, std::chrono::milliseconds deadline) {
  const auto unavailable = [](std::string what) {
    return Error{ErrorKind::unavailable, std::move(what), ""};
  };
  if (!call.trouble.empty()) return unavailable(call.trouble);
  if (is_whole(call.text)) return decode(call.text);
  if (call.late)
    return Error{ErrorKind::timeout, fmt::format("no answer after {} ms", deadline.count()), ""};
  if (WIFSIGNALED(call.status))
    return unavailable(fmt::format("crashed with signal {} ({})", WTERMSIG(call.status),
                                   strsignal(WTERMSIG(call.status))));
  return unavailable("died without an answer");
}

}  // namespace

std::vector<Result<std::string>> isolated_calls(const std::vector<IsolatedCall>& calls) {
  const auto now = Clock::now();
  std::vector<Started> started;
  started.reserve(calls.size());
  for (const auto& call : calls) started.push_back(start(call, now));
  read_all(started);
  reap(started);
  std::vector<Result<std::string>> answers;
  answers.reserve(calls.size());
  for (std::size_t i = 0; i < calls.size(); ++i)
    answers.push_back(outcome(started[i], calls[i].deadline));
  return answers;
}

Result<std::string> isolated_call(const std::function<Result<std::string>()>& work,
                                  std::chrono::milliseconds deadline) {
  return isolated_calls({{.work = work, .deadline = deadline}}).front();
}

}  // namespace dllaunch
