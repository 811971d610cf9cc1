// The program of a rank as a child of its shim. The shim stays, because it alone can tell when the
// rank ended, and with what: srun tells of no rank that ends with 0, and mpirun of few.
#pragma once

#include <functional>
#include <optional>
#include <string_view>

namespace dllaunch {

/// Calls `become`, which replaces its process with the program or returns an exit code, in a child,
/// and returns the child's wait status when it has ended; nullopt: there can be no child.
/// This process from now on blocks all signals. Those to its process group, or to all processes of
/// the step, reach the program without it; where Slurm tracks steps by cgroups (proctrack/cgroup),
/// it signals its own children alone, KILL excepted, and this process passes on what it gets. It is
/// killed by none but SIGKILL, which then kills the program too. Who looks for the processes of a
/// rank finds them by their environment: this process hides its own.
std::optional<int> run_as_child(const std::function<int()>& become);

/// Whether these lines of /proc/PID/cgroup are of a process that Slurm tracks by its cgroup: in the
/// hierarchy of version 2, or in the freezer of version 1.
bool is_tracked_by_cgroup(std::string_view cgroups);

/// Ends this process as the wait status says: with the same exit code, or of the same signal. It
/// leaves no core file, the program may have.
[[noreturn]] void end_like(int wait_status);

}  // namespace dllaunch
