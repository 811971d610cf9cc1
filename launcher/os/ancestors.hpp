// Who started this process, as /proc tells it.
#pragma once

#include <sys/types.h>

#include <string>
#include <string_view>
#include <vector>

namespace dllaunch {

struct ProcessStat {
  std::string name = {};  // as in /proc/PID/comm: 15 letters at most
  pid_t parent = 0;
  std::string started = {};  // in ticks since boot: with the number, a process's identity
};

/// Of the text of /proc/PID/stat; the name in it may hold anything. Empty name: no such text.
ProcessStat parse_stat(std::string_view text);

/// The names of the parent, its parent and so on.
std::vector<std::string> ancestor_names();
/// "PID-START" of the parent; the same for all its children, and never again for others.
std::string parent_identity();

}  // namespace dllaunch
