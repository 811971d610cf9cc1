#include "launcher/supervise/supervisor_parent.hpp"

#include <poll.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstring>

#include "launcher/base/exit_code.hpp"
#include "launcher/os/descendants.hpp"
#include "runtime/rank/run_ownership.hpp"

namespace dllaunch {
namespace {

constexpr int most_incarnations = 3;
constexpr int look_ms = 1000;  // bounds the wait if a signal is missed
constexpr int fork_tries = 60;

pid_t own_parent = 0;  // parent of this process; 0: none

pid_t start(const std::function<int()>& work) {
  std::fflush(nullptr);
  const pid_t supervisor_parent = getpid();
  const pid_t pid = fork();
  if (pid != 0) return pid;
  prctl(PR_SET_PDEATHSIG, SIGTERM);
  if (getppid() != supervisor_parent) _exit(exit_code::job_failed);
  own_parent = supervisor_parent;
  const int code = work();
  std::fflush(nullptr);
  _exit(code);
}

/// The kernel has sent TERM; srun needs a moment to end its ranks.
void end_what_is_left() {
  constexpr std::chrono::seconds patience(5);
  constexpr std::chrono::seconds to_die(5);
  const auto began = std::chrono::steady_clock::now();
  while (true) {
    auto left = descendants_of(getpid());
    std::erase_if(left, [](const Descendant& process) {
      if (!process.zombie) return !variable_of(process.pid, fencing_token_variable);
      waitpid(process.pid, nullptr, WNOHANG);
      return true;
    });
    const auto waited = std::chrono::steady_clock::now() - began;
    if (left.empty() || waited > patience + to_die) return;
    for (const auto& process : left) {
      if (waited > patience) kill(process.pid, SIGKILL);
    }
    ::poll(nullptr, 0, /*timeout=*/100);
  }
}

/// Returns a wait status, as from waitpid().
int end_of(pid_t child, const SupervisorSignals& signals, bool& told) {
  while (true) {
    int status = 0;
    const pid_t got = waitpid(child, &status, WNOHANG);
    const bool none = got < 0 && errno == ECHILD;
    // Also those that came with its end: who was told to end is not replaced.
    for (const int signal : signals.take()) {
      told = told || signal == SIGTERM || signal == SIGINT || signal == SIGHUP;
      if (got == 0) kill(child, signal);
    }
    if (got == child) return status;
    if (none) return exit_code::job_failed << 8;
    pollfd source{.fd = signals.fd(), .events = POLLIN, .revents = 0};
    ::poll(&source, 1, look_ms);
  }
}

}  // namespace

int run_under_parent(const SupervisorSignals& signals, const std::function<int()>& work) {
  bool told = false;
  adopt_orphans();
  for (int incarnation = 0; incarnation < most_incarnations && !told; ++incarnation) {
    pid_t child = start(work);
    for (int i = 0; child < 0 && i < fork_tries; ++i) {
      ::poll(nullptr, 0, look_ms);
      child = start(work);
    }
    if (child < 0) {
      std::fprintf(stderr, "dllaunch: cannot start a second process: %s\n", std::strerror(errno));
      return exit_code::environment;
    }
    const int status = end_of(child, signals, told);
    if (WIFEXITED(status)) return WEXITSTATUS(status);
    std::fprintf(stderr, "dllaunch: the supervisor was killed by signal %d\n", WTERMSIG(status));
    end_what_is_left();
  }
  return exit_code::job_failed;
}

bool supervisor_parent_was_killed() {
  return own_parent != 0 && getppid() != own_parent;
}

}  // namespace dllaunch
