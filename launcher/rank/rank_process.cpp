#include "launcher/rank/rank_process.hpp"

#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>

#include "launcher/os/shown_process.hpp"

namespace dllaunch {
namespace {

/// Passes on the signal by which the starter wants its children to learn of its death.
int wait_for(pid_t child, const sigset_t& all, pid_t parent) {
  int at_parents_death = 0;
  prctl(PR_GET_PDEATHSIG, &at_parents_death);
  int status = 0;
  while (waitpid(child, &status, WNOHANG) != child) {
    siginfo_t info{};
    const int signal = sigwaitinfo(&all, &info);
    if (signal > 0 && signal == at_parents_death && getppid() != parent) kill(child, signal);
  }
  return status;
}

}  // namespace

std::optional<int> run_as_child(const std::function<int()>& become) {
  const pid_t parent = getppid();
  const pid_t self = getpid();
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  sigprocmask(SIG_BLOCK, &all, &before);
  // Ignored, the kernel would not keep how a child ended.
  struct sigaction standard {};
  struct sigaction inherited {};
  standard.sa_handler = SIG_DFL;
  sigaction(SIGCHLD, &standard, &inherited);
  const pid_t child = fork();
  if (child <= 0) {
    sigaction(SIGCHLD, &inherited, nullptr);
    sigprocmask(SIG_SETMASK, &before, nullptr);
  }
  if (child < 0) return std::nullopt;
  if (child == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    // The parent may have died before the line above.
    _exit(getppid() == self ? become() : 128 + SIGKILL);
  }
  hide_environment();
  return wait_for(child, all, parent);
}

void end_like(int wait_status) {
  if (!WIFSIGNALED(wait_status)) _exit(WEXITSTATUS(wait_status));
  const int signal = WTERMSIG(wait_status);
  prctl(PR_SET_DUMPABLE, 0);
  std::signal(signal, SIG_DFL);
  raise(signal);
  sigset_t one;
  sigemptyset(&one);
  sigaddset(&one, signal);
  sigprocmask(SIG_UNBLOCK, &one, nullptr);
  _exit(128 + signal);
}

}  // namespace dllaunch
