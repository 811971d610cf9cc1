// The daemon from its start to its end.
#pragma once

#include <functional>
#include <string>

#include "launcher/daemon/daemon_lock.hpp"
#include "launcher/daemon/place.hpp"
#include "launcher/daemon/settings.hpp"
#include "launcher/world.hpp"

namespace dllaunch {

/// Runs until SIGTERM, SIGINT, SIGHUP or a request ends it. `ready` is called once it answers, with
/// a line for people. The lock is held already. bad_request, unavailable: it could not begin.
Result<Ok> run_daemon(World& world, const DaemonPlace& place, const DaemonSettings& settings,
                      const std::function<void(const std::string&)>& ready);

}  // namespace dllaunch
