// The stack of another thread of this process, while that thread runs or waits.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <string>
#include <string_view>

namespace dllaunch {

/// Call it before the first stack_of(), on any thread. Reserves a free real-time signal and loads
/// what unwinding needs, which must not happen in a handler. False: every such signal is taken.
bool prepare_stacks();

/// Returns "poll < read_batch < main", innermost first, about 400 characters at most. Empty if the
/// thread did not answer in time: it is stopped, gone, or blocked in the kernel. A system call that
/// it sleeps in may fail with EINTR.
std::string stack_of(pid_t thread, std::chrono::milliseconds patience);

/// Returns "dllaunch::Loader::next" for a mangled or demangled name: no arguments, no template
/// arguments.
std::string short_symbol(std::string_view symbol);

}  // namespace dllaunch
