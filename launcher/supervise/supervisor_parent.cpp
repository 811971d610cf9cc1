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
#include <utility>
#include <vector>

#include "launcher/base/exit_code.hpp"
#include "launcher/os/descendants.hpp"
#include "runtime/rank/run_ownership.hpp"
#include "support/awake_clock.hpp"

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
  const auto began = AwakeClock::now();
  while (true) {
    auto left = descendants_of(getpid());
    std::erase_if(left, [](const Descendant& process) {
      if (!process.zombie) return !variable_of(process.pid, fencing_token_variable);
      waitpid(process.pid, nullptr, WNOHANG);
      return true;
    });
    const auto waited = AwakeClock::now() - began;
    if (left.empty() || waited > patience + to_die) return;
    for (const auto& process : left) {
      if (waited > patience) kill(process.pid, SIGKILL);
    }
    poll_awake(nullptr, 0, /*timeout_ms=*/100);
  }
}

/// What this process was sent.
class Mail {
 public:
  explicit Mail(const SupervisorSignals& signals) : signals_(signals) {}

  /// Hands what has come to `child`; 0: there is none, and what means no stop is kept for the next.
  void take(pid_t child) {
    for (const int signal : signals_.take()) {
      const bool stop = signal == SIGTERM || signal == SIGINT || signal == SIGHUP;
      told_ = told_ || stop;
      if (child != 0) kill(child, signal);
      if (child == 0 && !stop) kept_.push_back(signal);
    }
  }
  void hand_on_kept(pid_t child) {
    for (const int signal : std::exchange(kept_, {})) kill(child, signal);
  }
  void wait() const {
    pollfd source{.fd = signals_.fd(), .events = POLLIN, .revents = 0};
    ::poll(&source, 1, look_ms);
  }
  /// Whether one meant to stop: who was told to end is not replaced.
  bool told() const { return told_; }

 private:
  const SupervisorSignals& signals_;
  bool told_ = false;
  std::vector<int> kept_ = {};
};

/// Returns as fork(), or -1 if this process is told to end before that succeeds.
pid_t start_patiently(const std::function<int()>& work, Mail& mail) {
  for (int i = 0;; ++i) {
    const pid_t child = start(work);
    if (child >= 0 || i == fork_tries) return child;
    mail.wait();
    mail.take(0);
    if (mail.told()) return -1;
  }
}

/// Returns a wait status, as from waitpid().
int end_of(pid_t child, Mail& mail) {
  while (true) {
    int status = 0;
    const pid_t got = waitpid(child, &status, WNOHANG);
    const bool none = got < 0 && errno == ECHILD;
    mail.take(got == 0 ? child : 0);
    if (got == child) return status;
    if (none) return exit_code::job_failed << 8;
    mail.wait();
  }
}

}  // namespace

int run_under_parent(const SupervisorSignals& signals, const std::function<int()>& work) {
  Mail mail(signals);
  adopt_orphans();
  for (int incarnation = 0; incarnation < most_incarnations && !mail.told(); ++incarnation) {
    const pid_t child = start_patiently(work, mail);
    if (child < 0 && mail.told()) break;
    if (child < 0) {
      std::fprintf(stderr, "dllaunch: cannot start a second process: %s\n", std::strerror(errno));
      return exit_code::environment;
    }
    mail.hand_on_kept(child);
    const int status = end_of(child, mail);
    if (WIFEXITED(status)) return WEXITSTATUS(status);
    std::fprintf(stderr, "dllaunch: the supervisor was killed by signal %d\n", WTERMSIG(status));
    end_what_is_left();
    mail.take(0);
  }
  return exit_code::job_failed;
}

bool supervisor_parent_was_killed() {
  return own_parent != 0 && getppid() != own_parent;
}

}  // namespace dllaunch
