// A network of this process alone, whose only link can be taken down.
#pragma once

#include <net/if.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>

#include "support/shared_memory.hpp"

namespace dllaunch {

/// Moves this process there, with its loopback up, or aborts. The process must have one thread.
class OwnNetwork {
 public:
  OwnNetwork() {
    if (!enter()) std::abort();
  }

  /// False where the kernel, or a container, forbids it.
  static bool is_possible() {
    const pid_t child = ::fork();
    if (child == 0) ::_exit(enter() ? 0 : 1);
    int status = 1;
    return child > 0 && ::waitpid(child, &status, 0) == child && status == 0;
  }

  /// From now on no packet arrives; neither side is told.
  void take_down() const {
    if (!set_loopback(0)) std::abort();
  }

 private:
  static bool enter() {
    const bool entered =
        ::unshare(CLONE_NEWNET) == 0 || ::unshare(CLONE_NEWUSER | CLONE_NEWNET) == 0;
    return entered && set_loopback(IFF_UP | IFF_RUNNING);
  }

  static bool set_loopback(int flags) {
    const FileDescriptor socket(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
    ifreq request{};
    std::memcpy(request.ifr_name, "lo", sizeof "lo");
    request.ifr_flags = static_cast<short>(flags);
    return ::ioctl(socket.get(), SIOCSIFFLAGS, &request) == 0;
  }
};

}  // namespace dllaunch
