// What of a foreign line is fit to be shown.
#pragma once

#include <string>
#include <string_view>

namespace dllaunch {

/// Without the escape sequences of terminals (colours, cursor movements); other control characters
/// and bytes that are no UTF-8 as \x1b.
std::string shown_line(std::string_view line);

}  // namespace dllaunch
