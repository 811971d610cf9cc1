#include "launcher/rank/rank_process.hpp"

#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

namespace dllaunch {
namespace {

/// Overwrites what /proc/self/environ shows. Variables that were set since then remain.
void hide_environment() {
  std::ifstream file("/proc/self/stat");
  std::string stat;
  std::getline(file, stat);
  const auto name_end = stat.rfind(')');
  if (name_end == std::string::npos) return;
  std::istringstream fields(stat.substr(name_end + 1));
  constexpr std::size_t env_start = 47;  // proc(5) counts the two before
  std::vector<std::string> words;
  for (std::string word; fields >> word;) words.push_back(word);
  if (words.size() <= env_start + 1) return;
  const auto begin = std::strtoull(words[env_start].c_str(), nullptr, 10);
  const auto end = std::strtoull(words[env_start + 1].c_str(), nullptr, 10);
  if (begin == 0 || end <= begin) return;
  // The kernel shows these bytes of our own stack.
  // NOLINTNEXTLINE(performance-no-int-to-ptr)
  std::memset(reinterpret_cast<void*>(static_cast<std::uintptr_t>(begin)), 0, end - begin);
}

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
