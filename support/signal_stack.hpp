// Signal handlers on an alternate stack.
//
// oneDNN's AVX-512 matrix kernels (seen in 2.6.3, lenet's convolutions) point the stack pointer at
// other memory while they run. A handler on the thread's own stack overwrites that memory: one
// signal in a hundred ended in "corrupted size vs. prev_size" or SIGSEGV some steps later.
#pragma once

namespace dllaunch {

/// Gives the calling thread an alternate signal stack until it ends. Does nothing if it has a large
/// enough one, or if memory is exhausted.
void use_signal_stack();

/// Installs a handler with SA_RESTART | SA_ONSTACK | FLAGS and gives the calling thread a signal
/// stack. Returns false if the system refuses the signal. Start other compute threads with
/// AllSignalsBlocked.
bool handle_signal(int number, void (*handler)(int), int flags = 0);

}  // namespace dllaunch
