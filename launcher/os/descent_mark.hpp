// A number that all descendants of a process carry, whatever becomes of their parents, session,
// environment and descriptors: the soft limit RLIMIT_LOCKS, which Linux has not enforced since 2.5.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <vector>

namespace dllaunch {

/// Marks this process, and all that it starts from now on. False: the site has limited the locks.
bool mark_descent(std::uint64_t mark);

/// Returns the mark of a process; 0: none, or it is gone or another user's.
std::uint64_t descent_mark_of(pid_t pid);

/// The processes of this machine, zombies excepted, whose marks are from `first` to `last`.
std::vector<pid_t> marked_processes(std::uint64_t first, std::uint64_t last);

}  // namespace dllaunch
