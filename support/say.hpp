// Prints lines for the user, wherever the caller sends them.
#pragma once

#include <functional>
#include <string_view>

namespace dllaunch {

/// Takes one line without its newline.
using Say = std::function<void(std::string_view line)>;

}  // namespace dllaunch
