#include "launcher/supervise/signals.hpp"

#include <sys/signalfd.h>
#include <unistd.h>

namespace dllaunch {

SupervisorSignals::SupervisorSignals(int ask) {
  std::vector<int> all = {SIGTERM, SIGINT, SIGHUP, SIGCHLD};
  if (ask != 0) all.push_back(ask);
  sigset_t watched;
  sigemptyset(&watched);
  for (const int signal : all) sigaddset(&watched, signal);
  sigprocmask(SIG_BLOCK, &watched, &before_);
  // The script leaves some signals ignored; an ignored signal is lost even while blocked.
  for (const int signal : all) std::signal(signal, SIG_DFL);
  fd_ = signalfd(-1, &watched, SFD_NONBLOCK | SFD_CLOEXEC);
}

SupervisorSignals::~SupervisorSignals() {
  if (fd_ >= 0) close(fd_);
  sigprocmask(SIG_SETMASK, &before_, nullptr);
}

std::vector<int> SupervisorSignals::take() const {
  std::vector<int> came;
  signalfd_siginfo info{};
  while (read(fd_, &info, sizeof info) == sizeof info) {
    if (info.ssi_signo != SIGCHLD) came.push_back(static_cast<int>(info.ssi_signo));
  }
  return came;
}

}  // namespace dllaunch
