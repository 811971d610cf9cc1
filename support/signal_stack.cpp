#include "support/signal_stack.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstddef>

namespace dllaunch {
namespace {

/// Returns what the kernel saves (11 KiB with AMX registers) plus what backtrace() needs.
std::size_t least_size() {
  const long frame = ::sysconf(_SC_MINSIGSTKSZ);
  return static_cast<std::size_t>(std::max(frame, 2048L)) + std::size_t{16} * 1024;
}

constexpr std::size_t size = std::size_t{128} * 1024;

class SignalStack {
 public:
  SignalStack() {
    stack_t before = {};
    if (::sigaltstack(nullptr, &before) != 0) return;
    if ((before.ss_flags & SS_DISABLE) == 0 && before.ss_size >= least_size()) return;
    const std::size_t wanted = std::max(size, least_size());
    void* memory = ::mmap(nullptr, wanted, PROT_READ | PROT_WRITE,
                          MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0);
    if (memory == MAP_FAILED) return;
    stack_ = {.ss_sp = memory, .ss_flags = 0, .ss_size = wanted};
    if (::sigaltstack(&stack_, nullptr) != 0) release();
  }
  ~SignalStack() {
    stack_t now = {};
    if (stack_.ss_sp == nullptr || ::sigaltstack(nullptr, &now) != 0) return;
    // A stack set by other code meanwhile stays.
    if (now.ss_sp == stack_.ss_sp) {
      const stack_t none = {.ss_sp = nullptr, .ss_flags = SS_DISABLE, .ss_size = 0};
      if (::sigaltstack(&none, nullptr) != 0) return;
    }
    release();
  }
  SignalStack(const SignalStack&) = delete;
  SignalStack& operator=(const SignalStack&) = delete;

 private:
  void release() {
    ::munmap(stack_.ss_sp, stack_.ss_size);
    stack_.ss_sp = nullptr;
  }

  stack_t stack_ = {};
};

}  // namespace

void use_signal_stack() {
  thread_local const SignalStack stack;
}

bool handle_signal(int number, void (*handler)(int), int flags) {
  use_signal_stack();
  struct sigaction action {};
  action.sa_handler = handler;
  action.sa_flags = SA_RESTART | SA_ONSTACK | flags;
  ::sigemptyset(&action.sa_mask);
  return ::sigaction(number, &action, nullptr) == 0;
}

}  // namespace dllaunch
