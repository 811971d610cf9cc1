// Waits until processes sleep: one that has just been forked, or has just said "ready", may still
// be on its way to exec(), to its signal handlers or to sleep().
#pragma once

#include <sys/types.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <map>
#include <optional>
#include <string>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

namespace dllaunch {

/// How often each thread of `processes` has gone to sleep; nothing while one is awake.
inline std::optional<std::map<std::string, std::string>> sleeps_of(
    const std::vector<pid_t>& processes) {
  std::map<std::string, std::string> counts;
  for (const pid_t pid : processes) {
    std::error_code ended;
    const auto threads = "/proc/" + std::to_string(pid) + "/task";
    // By hand, since ++ throws where the process ends meanwhile.
    for (std::filesystem::directory_iterator at(threads, ended), end; !ended && at != end;
         at.increment(ended)) {
      std::ifstream status(at->path() / "status");
      for (std::string line; std::getline(status, line);) {
        const bool asleep = line.ends_with("(sleeping)") || line.ends_with("(zombie)");
        if (line.starts_with("State:") && !asleep) return std::nullopt;
        if (line.starts_with("voluntary_ctxt_switches:")) counts[at->path()] = line;
      }
    }
  }
  return counts;
}

/// Waits until all that `list` returns sleep, and did so in two looks. False: not within 60 s.
template <typename List>
bool come_to_rest(const List& list) {
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  for (auto seen = sleeps_of(list()); std::chrono::steady_clock::now() < deadline;) {
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
    auto now = sleeps_of(list());
    if (now && now == seen) return true;
    seen = std::move(now);
  }
  return false;
}

inline bool comes_to_rest(pid_t process) {
  return come_to_rest([process] { return std::vector<pid_t>{process}; });
}

}  // namespace dllaunch
