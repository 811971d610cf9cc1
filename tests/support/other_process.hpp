// A process of another user, for tests that root runs.
#pragma once

#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

namespace dllaunch {

/// Not 65534, which stands for users whom Linux cannot name.
constexpr uid_t other_user = 65533;

/// Whether tests may switch to another user.
inline bool can_be_others() {
  return geteuid() == 0;
}

/// A fork of this process, run as that user, in which `prepare()` has returned true. It waits to be
/// killed, at the latest by this object's destructor.
class OtherProcess {
 public:
  template <typename Prepare>
  OtherProcess(uid_t user, Prepare prepare) {
    int done[2] = {-1, -1};
    if (pipe(done) != 0) return;
    pid_ = fork();
    if (pid_ == 0) {
      prctl(PR_SET_PDEATHSIG, SIGKILL);
      const bool is_user = user == geteuid() || (setgid(user) == 0 && setuid(user) == 0);
      const char good = is_user && prepare() ? 'y' : 'n';
      if (write(done[1], &good, 1) != 1) _exit(1);
      while (true) pause();
    }
    close(done[1]);
    char said = 'n';
    ready_ = read(done[0], &said, 1) == 1 && said == 'y';
    close(done[0]);
  }
  OtherProcess(const OtherProcess&) = delete;
  OtherProcess& operator=(const OtherProcess&) = delete;
  ~OtherProcess() { end(); }

  bool ready() const { return ready_; }
  pid_t pid() const { return pid_; }
  void end() {
    if (pid_ <= 0) return;
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
    pid_ = -1;
  }

 private:
  pid_t pid_ = -1;
  bool ready_ = false;
};

}  // namespace dllaunch
