// The version of this build, from the project's CMakeLists.txt.
#pragma once

#include <string_view>

namespace dllaunch {

std::string_view version();  // "0.1.0"

}  // namespace dllaunch
