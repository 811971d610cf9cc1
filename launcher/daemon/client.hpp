// What the command line asks the daemon: one request over its unix socket.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <string>

#include "launcher/daemon/place.hpp"
#include "topology/result.hpp"

namespace dllaunch {

struct DaemonAnswer {
  int status = 0;  // of HTTP
  std::string body = {};
  pid_t pid = 0;  // of the daemon, as the kernel has it
};

/// `method` "GET" or "POST". unavailable: no daemon listens there, or it speaks no HTTP.
/// timeout: no answer within `limit`.
Result<DaemonAnswer> ask_daemon(const DaemonPlace& place, const std::string& method,
                                const std::string& path, std::chrono::milliseconds limit);

}  // namespace dllaunch
