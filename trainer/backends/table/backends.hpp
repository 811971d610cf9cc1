// The backends of this build.
#pragma once

#include <span>

#include "trainer/backends/backend.hpp"

namespace dllaunch {

/// Fastest first. The build writes the table in the order of trainer/CMakeLists.txt.
std::span<const BackendEntry> backends();

}  // namespace dllaunch
