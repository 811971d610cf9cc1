// Text broken into lines of a width.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace dllaunch {

/// The words of `text` in lines of at most `width` characters. A longer word has a line of its own.
std::vector<std::string> wrapped_lines(std::string_view text, std::size_t width);

}  // namespace dllaunch
