// The stack of another thread of this process, while that thread does whatever it does.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <string>
#include <string_view>

namespace dllaunch {

/// Before the first stack_of(), by any thread: takes a free real-time signal and loads what
/// unwinding needs, which must not happen within a signal. False: every such signal is taken.
bool prepare_stacks();

/// "poll < read_batch < main", innermost first, at most some 400 characters. Empty: the thread did
/// not answer in time, as it is stopped, gone, or blocked in the kernel. A system call it sleeps in
/// may end with EINTR.
std::string stack_of(pid_t thread, std::chrono::milliseconds patience);

/// "dllaunch::Loader::next" of a mangled name or a demangled one: no arguments, no templates'
/// insides.
std::string short_symbol(std::string_view symbol);

}  // namespace dllaunch
