#include "launcher/rank/rank_process.hpp"

#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>

#include "launcher/base/split.hpp"
#include "launcher/os/descendants.hpp"
#include "launcher/os/shown_process.hpp"
#include "support/file_text.hpp"

namespace dllaunch {
namespace {

/// Whether what the starter sends reaches its own children alone.
bool signals_only_children(pid_t starter) {
  const auto cgroups = read_file_text("/proc/self/cgroup");
  return name_of(starter) == "slurmstepd" && cgroups && is_tracked_by_cgroup(*cgroups);
}

/// Passes on the signal by which the starter wants its children to learn of its death, and what it
/// sends to its children alone.
int wait_for(pid_t child, const sigset_t& all, pid_t parent) {
  int at_parents_death = 0;
  prctl(PR_GET_PDEATHSIG, &at_parents_death);
  const bool alone = signals_only_children(parent);
  int status = 0;
  while (waitpid(child, &status, WNOHANG) != child) {
    siginfo_t info{};
    const int signal = sigwaitinfo(&all, &info);
    if (signal <= 0 || signal == SIGCHLD) continue;
    const bool orphaned = signal == at_parents_death && getppid() != parent;
    if (orphaned || (alone && info.si_pid == parent)) kill(child, signal);
  }
  return status;
}

}  // namespace

bool is_tracked_by_cgroup(std::string_view cgroups) {
  return std::ranges::any_of(split_lines(cgroups), [](std::string_view line) {
    const bool of_processes = line.starts_with("0::") || line.find(":freezer:") != line.npos;
    return of_processes && line.find("/step_") != line.npos;
  });
}

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
