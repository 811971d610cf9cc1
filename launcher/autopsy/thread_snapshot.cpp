#include "launcher/autopsy/thread_snapshot.hpp"

#include <elf.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <fstream>
#include <thread>
#include <utility>

#include "launcher/autopsy/registers.hpp"

namespace dllaunch {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t most_stack_bytes = std::size_t{1} << 20;
constexpr std::size_t page = 4096;
constexpr auto patience = std::chrono::milliseconds(400);  // for a thread to stop

std::string ptrace_scope() {
  std::ifstream in("/proc/sys/kernel/yama/ptrace_scope");
  std::string scope;
  in >> scope;
  return scope;
}

/// Waits until the seized thread has stopped; false: it has ended, or is stuck in the kernel.
bool wait_for_stop(int thread) {
  for (const auto end = Clock::now() + patience; Clock::now() < end;) {
    int status = 0;
    const pid_t changed = waitpid(thread, &status, __WALL | WNOHANG);
    if (changed == thread) return WIFSTOPPED(status);
    if (changed < 0) return false;
    std::this_thread::sleep_for(std::chrono::microseconds(20));
  }
  return false;
}

}  // namespace

ThreadSnapshot take_snapshot(int pid, int thread) {
  ThreadSnapshot taken;
  taken.stack.resize(most_stack_bytes);  // before the thread stops: it takes longer than the rest
  std::size_t copied = 0;
  if (ptrace(PTRACE_SEIZE, thread, nullptr, nullptr) != 0) {
    const int error = errno;
    taken.why_not = tracing_refusal(error, ptrace_scope());
    taken.stack.clear();
    return taken;
  }
  ptrace(PTRACE_INTERRUPT, thread, nullptr, nullptr);
  if (!wait_for_stop(thread)) {
    // This process's end lets go of it.
    taken.why_not = "it did not stop within 0.4 s: it does not leave the kernel, or has no CPU";
    taken.stack.clear();
    return taken;
  }
  iovec registers{&taken.registers, sizeof taken.registers};
  if (ptrace(PTRACE_GETREGSET, thread, NT_PRSTATUS, &registers) == 0) {
    copied =
        read_memory(pid, stack_pointer_of(taken.registers), taken.stack.data(), taken.stack.size());
  } else {
    taken.why_not = std::strerror(errno);
  }
  ptrace(PTRACE_DETACH, thread, nullptr, nullptr);
  taken.stack.resize(copied);
  return taken;
}

std::size_t read_memory(int pid, std::uint64_t from, std::byte* to, std::size_t bytes) {
  std::size_t done = 0;
  while (done < bytes) {
    std::array<iovec, 64> remote{};
    iovec local{to + done, 0};
    std::size_t pieces = 0;
    for (std::uint64_t at = from + done; pieces < remote.size() && local.iov_len < bytes - done;) {
      const std::size_t size = std::min(page - at % page, bytes - done - local.iov_len);
      remote[pieces++] = {reinterpret_cast<void*>(at), size};
      local.iov_len += size;
      at += size;
    }
    const ssize_t got = process_vm_readv(pid, &local, 1, remote.data(), pieces, 0);
    if (got <= 0) break;
    done += static_cast<std::size_t>(got);
    if (static_cast<std::size_t>(got) < local.iov_len) break;
  }
  return done;
}

std::string tracing_refusal(int error, const std::string& ptrace_scope) {
  if (error == ESRCH) return "it has ended";
  if (error != EPERM) return std::strerror(error);
  if (ptrace_scope == "3")
    return "this node's kernel forbids tracing to everybody (kernel.yama.ptrace_scope is 3)";
  if (ptrace_scope == "2")
    return "this node's kernel lets only administrators trace (kernel.yama.ptrace_scope is 2)";
  if (ptrace_scope == "1")
    return "this node's kernel lets a program be traced only if it agrees "
           "(kernel.yama.ptrace_scope is 1), and `dllaunch exec` did not start this one";
  return "the kernel does not let this user trace it: a debugger does already, or the program "
         "changed its user";
}

}  // namespace dllaunch
