// Makes a line of foreign output displayable.
#pragma once

#include <string>
#include <string_view>

namespace dllaunch {

/// The line without terminal escape sequences (colours, cursor movements); other control characters
/// and invalid UTF-8 as \x1b.
std::string shown_line(std::string_view line);

}  // namespace dllaunch
