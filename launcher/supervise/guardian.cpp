#include "launcher/supervise/guardian.hpp"

#include <poll.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>

#include "launcher/verb.hpp"

namespace dllaunch {
namespace {

constexpr int most_lives = 3;
constexpr int look_ms = 1000;  // a signal that wakes nobody is survived

pid_t start(const std::function<int()>& work) {
  std::fflush(nullptr);
  const pid_t guardian = getpid();
  const pid_t pid = fork();
  if (pid != 0) return pid;
  prctl(PR_SET_PDEATHSIG, SIGTERM);
  if (getppid() != guardian) _exit(exit_code::job_failed);
  const int code = work();
  std::fflush(nullptr);
  _exit(code);
}

/// As waitpid() words it.
int end_of(pid_t child, const SupervisorSignals& signals, bool& told) {
  while (true) {
    int status = 0;
    const pid_t got = waitpid(child, &status, WNOHANG);
    if (got == child) return status;
    if (got < 0 && errno == ECHILD) return exit_code::job_failed << 8;
    pollfd source{.fd = signals.fd(), .events = POLLIN, .revents = 0};
    ::poll(&source, 1, look_ms);
    for (const int signal : signals.take()) {
      told = told || signal == SIGTERM || signal == SIGINT || signal == SIGHUP;
      kill(child, signal);
    }
  }
}

}  // namespace

int guard(const SupervisorSignals& signals, const std::function<int()>& work) {
  bool told = false;
  for (int life = 0; life < most_lives && !told; ++life) {
    const pid_t child = start(work);
    // Without a second process: better than not at all.
    if (child < 0) return work();
    const int status = end_of(child, signals, told);
    if (WIFEXITED(status)) return WEXITSTATUS(status);
    std::fprintf(stderr, "dllaunch: the supervisor was killed by signal %d\n", WTERMSIG(status));
  }
  return exit_code::job_failed;
}

void let_keeper_go(int input) {
  if (input < 0) return;
  close(input);
  constexpr int looks = 600;
  constexpr int pause_ms = 100;
  for (int i = 0; i < looks && waitpid(-1, nullptr, WNOHANG) == 0; ++i)
    ::poll(nullptr, 0, pause_ms);
}

}  // namespace dllaunch
