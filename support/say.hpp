// Lines for a person, to wherever the caller sends them.
#pragma once

#include <functional>
#include <string_view>

namespace dllaunch {

/// Takes one line without its end.
using Say = std::function<void(std::string_view line)>;

}  // namespace dllaunch
