// dllaunch-daemon: watches all runs of one user, resubmits them, and serves their state over HTTP.
// It starts no ranks and runs inside no job; within a job the supervisor decides.
#pragma once

#include <chrono>
#include <functional>
#include <string>

#include "launcher/daemon/client/daemon_lock.hpp"
#include "launcher/daemon/client/paths.hpp"
#include "launcher/daemon/client/settings.hpp"
#include "launcher/os/system.hpp"

namespace dllaunch {

/// Runs until SIGTERM, SIGINT, SIGHUP or a request ends it, or until the lock file is removed:
/// another daemon could then start. Calls `ready` with a line for people once it accepts requests.
/// bad_request, unavailable: it could not start.
Result<Ok> run_daemon(System& system, const DaemonPaths& paths, const DaemonSettings& settings,
                      const DaemonLock& lock, const std::function<void(const std::string&)>& ready);

/// Interval between renewals of the lock's signature.
constexpr std::chrono::milliseconds renewal_pause(10'000);

}  // namespace dllaunch
