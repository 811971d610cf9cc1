// The daemon as a systemd user service, where systemd is available.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "launcher/daemon/client/settings.hpp"

namespace dllaunch {

/// Returns the arguments of `dllaunch daemon start` for these settings.
std::vector<std::string> start_argv(const std::string& dllaunch, const DaemonSettings& settings);

/// Returns a user unit, for ~/.config/systemd/user/dllaunch.service. `environment`: NAME and value
/// of the variables the daemon needs; a unit does not inherit a shell's environment.
std::string systemd_unit(const std::string& dllaunch, const DaemonSettings& settings,
                         const std::vector<std::pair<std::string, std::string>>& environment);

}  // namespace dllaunch
