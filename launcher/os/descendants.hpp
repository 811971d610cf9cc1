// The processes below us, and what is needed to stop them: read from /proc.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace dllaunch {

struct Descendant {
  pid_t pid = 0;
  pid_t parent = 0;
  bool zombie = false;
};

/// Children, their children and so on of process `root`, parents before children.
std::vector<Descendant> descendants_of(pid_t root);

/// A variable of a process as it was at its exec; nothing when it is gone or not ours.
std::optional<std::string> variable_of(pid_t pid, std::string_view name);

/// Whether the process has a handler for the signal.
bool catches(pid_t pid, int signal);

/// Makes orphans below us our children instead of init's: what a rank left behind stays ours to
/// end.
void adopt_orphans();

/// Ends every process below us and reaps it: TERM, and KILL to what is left after `patience`.
/// Returns how many had to be ended. Gives up after another 2 s (a process in a dead file system).
/// `but` (0: nobody) and those below it are left alone.
int end_descendants(std::chrono::milliseconds patience, pid_t but = 0);

}  // namespace dllaunch
