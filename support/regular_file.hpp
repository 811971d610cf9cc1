// Opening what others may have put where a file of ours should be.
#pragma once

#include <string>

namespace dllaunch {

/// A descriptor to read from, -1 (and errno) where there is none. A pipe or a device is refused
/// at once: to open or to read one may wait for ever.
int open_regular_file(const std::string& path);

}  // namespace dllaunch
