// Tables of text for a terminal.
#pragma once

#include <string>
#include <vector>

namespace dllaunch {

using TableRow = std::vector<std::string>;

/// One line per row, without trailing blanks: columns begin below each other, two blanks apart. A
/// column is at most `widest` characters wide; a longer cell moves the rest of its line.
std::vector<std::string> table_lines(const std::vector<TableRow>& rows, int widest = 1 << 20);
/// The same as one text, each line behind `indent`.
std::string table_text(const std::vector<TableRow>& rows, const std::string& indent = "");

}  // namespace dllaunch
