// The ancestors of this process, from /proc.
#pragma once

#include <sys/types.h>

#include <string>
#include <string_view>
#include <vector>

namespace dllaunch {

struct ProcessStat {
  std::string name = {};  // /proc/PID/comm: at most 15 characters
  pid_t parent = 0;
  std::string started = {};  // ticks since boot; with the pid, identifies a process
};

/// Parses /proc/PID/stat; the name in it may contain anything. The name is empty if the text is
/// invalid.
ProcessStat parse_stat(std::string_view text);

/// The names of the parent, its parent and so on.
std::vector<std::string> ancestor_names();
/// "PID-START" of the parent: the same for all its children, and never reused.
std::string parent_identity();

}  // namespace dllaunch
