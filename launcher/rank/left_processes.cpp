#include "launcher/rank/left_processes.hpp"

#include <fcntl.h>
#include <fmt/core.h>
#include <poll.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <set>
#include <system_error>
#include <vector>

#include "launcher/os/descendants.hpp"
#include "launcher/os/descent_mark.hpp"
#include "launcher/os/shown_process.hpp"
#include "runtime/rank/run_ownership.hpp"
#include "support/counted.hpp"
#include "support/parse_number.hpp"

namespace dllaunch {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

constexpr int token_bits = 20;
constexpr std::uint64_t highest_token = (std::uint64_t{1} << token_bits) - 1;

/// Sends TERM, KILL after `patience`, and waits until the processes are gone or the kernel keeps
/// them. Returns their names.
std::string end_marked(std::uint64_t first, std::uint64_t last, milliseconds patience) {
  constexpr milliseconds to_die(5000);
  const auto began = Clock::now();
  std::string names;
  std::set<pid_t> asked;
  for (auto left = marked_processes(first, last); !left.empty();
       left = marked_processes(first, last)) {
    const auto waited = Clock::now() - began;
    if (waited > patience + to_die) break;
    for (const pid_t pid : left) {
      const bool fresh = asked.insert(pid).second;
      if (fresh) names += fmt::format("{}{} ({})", names.empty() ? "" : ", ", name_of(pid), pid);
      if (fresh || waited >= patience) kill(pid, waited >= patience ? SIGKILL : SIGTERM);
    }
    ::poll(nullptr, 0, /*timeout=*/10);
  }
  return asked.empty() ? "" : fmt::format("{}: {}", counted(std::ssize(asked), "process"), names);
}

/// Blocks until the process has ended. `process`: its pidfd; -1: the kernel has none (before 5.3).
void wait_for_end(pid_t pid, int process) {
  if (process >= 0) {
    pollfd end{.fd = process, .events = POLLIN, .revents = 0};
    while (::poll(&end, 1, -1) < 0 && errno == EINTR) continue;
    return;
  }
  while (kill(pid, 0) == 0 || errno != ESRCH) sleep(1);
}

void close_all_but(int kept) {
  std::vector<int> open;
  std::error_code error;
  for (std::filesystem::directory_iterator at("/proc/self/fd", error), end; !error && at != end;
       at.increment(error))
    open.push_back(parse_number<int>(at->path().filename().string()).value_or(0));
  for (const int fd : open)
    if (fd > STDERR_FILENO && fd != kept) close(fd);
}

[[noreturn]] void wait_and_end(const StartMark& mark, const std::string& host, pid_t starter,
                               int process) {
  setsid();
  sigset_t all;
  sigfillset(&all);
  sigprocmask(SIG_SETMASK, &all, nullptr);
  // Whatever is open but a log is another's: Slurm waits until its pipes are closed.
  const int null = open("/dev/null", O_RDWR);
  dup2(null, STDIN_FILENO);
  dup2(null, STDOUT_FILENO);
  struct stat info {};
  if (fstat(STDERR_FILENO, &info) != 0 || !S_ISREG(info.st_mode)) dup2(null, STDERR_FILENO);
  close_all_but(process);
  if (chdir("/") != 0) _exit(1);
  hide_environment();
  show_as("dllaunch: ends what ranks leave behind", "dllaunch-end");
  wait_for_end(starter, process);
  const auto ended = end_marked(mark.own, mark.own, milliseconds(1000));
  if (!ended.empty()) {
    const auto line =
        fmt::format("dllaunch: the ranks on {} left behind, and it was ended: {}\n", host, ended);
    if (write(STDERR_FILENO, line.data(), line.size()) < 0) _exit(1);
  }
  _exit(0);
}

}  // namespace

std::optional<StartMark> start_mark(const std::string& run_dir, const EnvLookup& lookup) {
  const auto job = lookup("SLURM_JOB_ID").value_or("");
  const auto token = parse_number<std::uint64_t>(lookup(fencing_token_variable).value_or(""));
  if (run_dir.empty() || job.empty() || !token) return std::nullopt;
  std::uint64_t hash = 14695981039346656037ULL;  // FNV-1a
  for (const unsigned char each : run_dir + '\0' + job) hash = (hash ^ each) * 1099511628211ULL;
  // Bit 62 makes it larger than any limit that a person sets.
  const auto of_run = std::uint64_t{1} << 62 | (hash >> 2 & ~highest_token);
  return StartMark{.of_run = of_run, .own = of_run | std::min(*token, highest_token)};
}

std::string end_earlier_starts(const StartMark& mark) {
  if (mark.own == mark.of_run) return "";
  const auto ended = end_marked(mark.of_run, mark.own - 1, milliseconds(0));
  return ended.empty() ? "" : "ended what an earlier start left behind: " + ended;
}

void end_leftovers_after_step(const StartMark& mark, const std::string& host) {
  const pid_t starter = getppid();
  const int process = static_cast<int>(syscall(SYS_pidfd_open, starter, 0));
  if (process < 0 && errno == ESRCH) return;
  const pid_t between = fork();
  if (between == 0) {
    // No child of the rank: its program does not expect one.
    if (fork() == 0) wait_and_end(mark, host, starter, process);
    _exit(0);
  }
  if (process >= 0) close(process);
  while (between > 0 && waitpid(between, nullptr, 0) < 0 && errno == EINTR) continue;
}

}  // namespace dllaunch
