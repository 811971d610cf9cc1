#include "topology/discovery/cgroup_paths.hpp"

#include <algorithm>

namespace dllaunch {
namespace {

/// Returns the text before `end` and removes both from `text`.
std::string_view take_until(std::string_view& text, char end) {
  const std::string_view taken = text.substr(0, text.find(end));
  text.remove_prefix(std::min(text.size(), taken.size() + 1));
  return taken;
}

/// False for "..": the path of a process outside its namespace's root.
bool stays_below(std::string_view path) {
  return path.starts_with('/') && (std::string(path) + '/').find("/../") == std::string::npos;
}

}  // namespace

CgroupPaths parse_proc_cgroup(std::string_view text) {
  CgroupPaths paths;
  while (!text.empty()) {
    // hierarchy:controller,controller:/path
    std::string_view line = take_until(text, '\n');
    if (std::ranges::count(line, ':') < 2) continue;
    const std::string_view hierarchy = take_until(line, ':');
    std::string_view controllers = take_until(line, ':');
    if (!stays_below(line)) continue;
    if (hierarchy == "0" && controllers.empty()) paths.unified = line;
    while (!controllers.empty()) {
      const std::string_view one = take_until(controllers, ',');
      if (one == "cpu") paths.cpu = line;
      if (one == "cpuset") paths.cpuset = line;
      if (one == "devices") paths.devices = line;
      if (one == "memory") paths.memory = line;
    }
  }
  return paths;
}

}  // namespace dllaunch
