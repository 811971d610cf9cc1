// The file that this code was loaded from.
#pragma once

#include <string>

#include "support/result.hpp"

namespace dllaunch {

/// Returns the absolute path of the program, or of the module, that this code is linked into.
/// unavailable: /proc cannot be read.
Result<std::string> own_file();

}  // namespace dllaunch
