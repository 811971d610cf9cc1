// The program of a rank as a child of its shim. The shim stays, so that somebody can tell when the
// rank ended, and with what: srun tells of no rank that ends with 0, and mpirun of few.
#pragma once

#include <functional>
#include <optional>

namespace dllaunch {

/// Calls `become`, which replaces its process with the program or returns an exit code, in a child,
/// and returns the child's wait status when it has ended; nullopt: there can be no child.
/// Signals to the job, its step or its process group reach the program without this process, which
/// from now on blocks all. It is killed by none but SIGKILL, which then kills the program too.
/// Who looks for the processes of a rank finds them by their environment: this process hides its
/// own.
std::optional<int> run_as_child(const std::function<int()>& become);

/// Ends this process as the wait status says: with the same exit code, or of the same signal. It
/// leaves no core file, the program may have.
[[noreturn]] void end_like(int wait_status);

}  // namespace dllaunch
