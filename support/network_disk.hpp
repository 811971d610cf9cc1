// Which folders are a machine's own, and which it shares with others.
#pragma once

#include <string>

namespace dllaunch {

/// On a file system that other machines see too: one of the kinds that clusters have. One that is
/// not known counts as the machine's own, a path that is not there as another's.
bool lies_on_network(const std::string& path);

}  // namespace dllaunch
