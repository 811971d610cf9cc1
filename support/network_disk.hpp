// Tells local folders from those on a network file system.
#pragma once

#include <string>

namespace dllaunch {

/// True if the path lies on one of the network file systems that clusters use, or does not exist.
/// Unknown file systems count as local.
bool lies_on_network(const std::string& path);

}  // namespace dllaunch
