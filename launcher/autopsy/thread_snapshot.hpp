// A thread's registers and the top of its stack at one moment.
#pragma once

#include <sys/user.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace dllaunch {

struct ThreadSnapshot {
  user_regs_struct registers = {};
  std::vector<std::byte> stack = {};  // from the stack pointer on, at most 1 MiB
  std::string why_not = {};           // empty: taken
};

/// Stops the thread while it is copied, well under a millisecond. If this process dies meanwhile,
/// the kernel lets the thread run on (PTRACE_SEIZE). One that is stopped already stays so.
ThreadSnapshot take_snapshot(int pid, int thread);

/// Returns the bytes that could be read, page by page, up to what is not mapped.
std::size_t read_memory(int pid, std::uint64_t from, std::byte* to, std::size_t bytes);

/// Why a thread cannot be traced, from errno and the number in /proc/sys/kernel/yama/ptrace_scope
/// (empty: this kernel has none).
std::string tracing_refusal(int error, const std::string& ptrace_scope);

}  // namespace dllaunch
