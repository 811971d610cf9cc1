// Descendant processes, and how to stop them. Reads /proc.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace dllaunch {

struct Descendant {
  pid_t pid = 0;
  pid_t parent = 0;
  bool zombie = false;
};

/// The ids of all processes of this machine.
std::vector<pid_t> pids_here();

/// Whether it has ended, and its parent has not waited for it.
bool is_zombie(pid_t pid);

/// The name of its program, at most 15 characters; empty: it is gone.
std::string name_of(pid_t pid);

/// All processes of this machine.
std::vector<Descendant> processes_here();

/// All descendants of process `root`, parents before children.
std::vector<Descendant> descendants_of(pid_t root);

/// The same among `all`, for several roots: reading thousands of processes takes a while.
std::vector<Descendant> descendants_of(pid_t root, const std::vector<Descendant>& all);

/// A variable from the environment a process had at exec; nullopt if the process is gone or not
/// readable.
std::optional<std::string> variable_of(pid_t pid, std::string_view name);

/// Whether the process has a handler for the signal.
bool catches(pid_t pid, int signal);

/// Whether the signal may be sent to the process as a request: it has a handler, or all its threads
/// block the signal, as those do that wait for it. Not a program that passes it on to all that it
/// has started, such as srun, nor a shell that handles all signals to clean up.
bool acts_on(pid_t pid, int signal);

/// Whether the process ignores the signal.
bool ignores(pid_t pid, int signal);

/// The ids of the process's threads, and whether each blocks the signal; one that runs its handler
/// does.
std::map<std::string, bool> threads_blocking(pid_t pid, int signal);

/// Makes orphaned descendants children of this process instead of init, so that it can end them.
void adopt_orphans();

/// Ends and reaps every descendant: TERM, then KILL after `patience`. Returns how many were
/// signalled. Gives up after another 2 s (a process blocked in a dead file system). Spares `but`
/// and their descendants.
int end_descendants(std::chrono::milliseconds patience, const std::set<pid_t>& but = {});

}  // namespace dllaunch
