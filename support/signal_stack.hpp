// How a rank handles signals: on a stack of their own.
//
// oneDNN's matrix kernels for AVX-512 (seen in 2.6.3, lenet's convolutions) let the stack pointer
// point at other memory while they run. A handler on the thread's own stack writes over that: one
// signal in a hundred ended in "corrupted size vs. prev_size" or SIGSEGV some steps later.
#pragma once

namespace dllaunch {

/// Handlers of the calling thread run on a stack of their own from now on, until it ends. Does
/// nothing where there is one that is large enough, or no memory for it.
void use_signal_stack();

/// SA_RESTART | SA_ONSTACK | FLAGS; the calling thread gets a stack for it. Threads that compute
/// beside it are to be started with AllSignalsBlocked. False: the system refuses the signal.
bool handle_signal(int number, void (*handler)(int), int flags = 0);

}  // namespace dllaunch
