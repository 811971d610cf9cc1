// Opens files whose place another user may have taken.
#pragma once

#include <string>

namespace dllaunch {

/// Returns a descriptor for reading, or -1 and errno. Refuses pipes and devices: opening or reading
/// them may block forever.
int open_regular_file(const std::string& path);

}  // namespace dllaunch
