// The path of this executable.
#pragma once

#include <string>

#include "support/result.hpp"

namespace dllaunch {

/// unavailable: /proc cannot be read.
Result<std::string> own_executable();

}  // namespace dllaunch
