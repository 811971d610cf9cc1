// Numbers as a table of HTML: what a plot shows, for readers who want the value.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace dllaunch {

/// `head` and cells are plain text. A cell of digits stands on the right.
std::string html_table(const std::vector<std::string>& head,
                       const std::vector<std::vector<std::string>>& rows);

/// A table that opens at a click, below a plot.
std::string folded(std::string_view summary, std::string_view content);

}  // namespace dllaunch
