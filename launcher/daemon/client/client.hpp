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

/// `method` "GET" or "POST". unavailable: no daemon listens there, or it speaks no HTTP.
/// timeout: no answer within `limit`.
Result<DaemonAnswer> ask_daemon(const DaemonPaths& paths, const std::string& method,
                                const std::string& path, std::chrono::milliseconds limit);

/// What the daemon did about a run, in its words. Empty: nothing, or no daemon answers at once.
std::string daemons_word(System& system, const std::string& run_dir);

/// Tells the daemon, where one answers, that its user ends the run: "leave" it be from now on, or
/// "cancel" what it may be submitting. False: no daemon looks after it, or it is over for that too.
bool tell_daemon(System& system, const std::string& run_dir, const std::string& wish);

}  // namespace dllaunch
