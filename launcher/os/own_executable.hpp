// The path by which this program is started again.
#pragma once

#include <string>

#include "support/result.hpp"

namespace dllaunch {

/// Returns what starts this program: its file, or in a bundle the starter beside it, without
/// which it would not find its libraries. unavailable: /proc cannot be read.
Result<std::string> own_executable();

}  // namespace dllaunch
