// The daemon as a systemd user service, where systemd is available.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "launcher/daemon/client/settings.hpp"

namespace dllaunch {

/// The words of `dllaunch daemon start` that mean these settings.
std::vector<std::string> start_argv(const std::string& dllaunch, const DaemonSettings& settings);

/// A unit of the user's, ~/.config/systemd/user/dllaunch.service. `environment`: what of it the
/// daemon needs, NAME and value, since a unit gets nothing of a shell's.
std::string systemd_unit(const std::string& dllaunch, const DaemonSettings& settings,
                         const std::vector<std::pair<std::string, std::string>>& environment);

}  // namespace dllaunch
