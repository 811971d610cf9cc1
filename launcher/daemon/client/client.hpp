// The command line's client of the daemon: one request over its unix socket.
// It does not start the daemon and does not read its store.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <string>

#include "launcher/daemon/client/paths.hpp"
#include "launcher/os/system.hpp"
#include "support/result.hpp"

namespace dllaunch {

struct DaemonAnswer {
  int status = 0;  // HTTP status
  std::string body = {};
  pid_t pid = 0;  // of the daemon, reported by the kernel
};

/// `method`: "GET" or "POST". unavailable: no daemon listens there, or it does not speak HTTP.
/// timeout: no response within `limit`.
Result<DaemonAnswer> ask_daemon(const DaemonPaths& paths, const std::string& method,
                                const std::string& path, std::chrono::milliseconds limit);

/// Returns the daemon's description of its last action on a run; empty: none, or no daemon responds
/// at once.
std::string daemons_word(System& system, const std::string& run_dir);

/// Tells the daemon, if one responds, that the user ends the run: "leave" it alone from now on, or
/// "cancel" a pending submission. Returns false if no daemon watches the run, or it has ended.
bool tell_daemon(System& system, const std::string& run_dir, const std::string& wish);

}  // namespace dllaunch
