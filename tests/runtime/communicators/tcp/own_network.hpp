// A network of this process alone, whose only link can be taken down.
#pragma once

#include <net/if.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <fstream>

#include "support/shared_memory.hpp"

namespace dllaunch {

/// Moves this process there, with its loopback up, or aborts. The process must have one thread.
class OwnNetwork {
 public:
  OwnNetwork() {
    if (!enter()) std::abort();
  }

  /// False where the kernel, a container or an emulator does not allow what the tests do.
  static bool is_possible() {
    const pid_t child = ::fork();
    if (child == 0) ::_exit(enter() && knows_options() ? 0 : 1);
    int status = 1;
    return child > 0 && ::waitpid(child, &status, 0) == child && status == 0;
  }

  /// From now on no packet arrives; neither side is told.
  void take_down() const {
    if (!set_loopback(0)) std::abort();
  }

 private:
  static bool enter() {
    const auto user = ::geteuid();
    if (::unshare(CLONE_NEWNET) != 0) {
      if (::unshare(CLONE_NEWUSER | CLONE_NEWNET) != 0) return false;
      // Root there, so that programs that it starts may change the network.
      std::ofstream("/proc/self/uid_map") << "0 " << user << " 1\n";
    }
    return set_loopback(IFF_UP | IFF_RUNNING);
  }

  static bool knows_options() {
    const FileDescriptor socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    const int on = 1;
    tcp_info info{};
    socklen_t size = sizeof info;
    return ::getsockopt(socket.get(), IPPROTO_TCP, TCP_INFO, &info, &size) == 0 &&
           size > sizeof(int) &&
           ::setsockopt(socket.get(), IPPROTO_TCP, TCP_REPAIR, &on, sizeof on) == 0;
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
