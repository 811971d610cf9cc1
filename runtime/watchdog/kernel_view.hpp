// The kernel's view of a thread that cannot respond.
#pragma once

#include <sys/types.h>

#include <string>
#include <string_view>

namespace dllaunch {

struct KernelView {
  char state = '?';        // as in ps; 'X': no such thread
  std::string wchan = {};  // the kernel function it sleeps in; empty: unknown
  long system_call = -1;   // -1: none, or unknown
  int end = 0;             // a dead one's status, as from waitpid()
};

/// Parses the texts of /proc/PID/task/TID/stat, wchan and syscall; accepts any input.
KernelView read_kernel_view(std::string_view stat, std::string_view wchan,
                            std::string_view system_call);
KernelView look_at_thread(pid_t process, pid_t thread);

/// "stopped", "blocked in the kernel: read (folio_wait_bit)", "asleep in futex".
std::string describe(const KernelView& view);

}  // namespace dllaunch
