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

/// Runs until SIGTERM, SIGINT, SIGHUP or a request ends it. `ready` is called once it answers, with
/// a line for people. It ends too when the lock's file is no longer there: the next daemon would
/// not see this one. bad_request, unavailable: it could not begin.
Result<Ok> run_daemon(System& system, const DaemonPaths& paths, const DaemonSettings& settings,
                      const DaemonLock& lock, const std::function<void(const std::string&)>& ready);

/// Between two renewals of the lock's signature.
constexpr std::chrono::milliseconds renewal_pause(10'000);

}  // namespace dllaunch
