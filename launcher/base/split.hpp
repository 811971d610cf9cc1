// Splits text.
#pragma once

#include <string_view>
#include <vector>

namespace dllaunch {

/// The lines without their newlines; no empty line after the last newline.
std::vector<std::string_view> split_lines(std::string_view text);

/// The parts between separators: one more than there are separators.
std::vector<std::string_view> split_at(std::string_view text, char separator);

}  // namespace dllaunch
