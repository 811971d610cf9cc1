#include "launcher/base/table.hpp"

#include <algorithm>
#include <cstddef>

#include "launcher/base/utf8.hpp"

namespace dllaunch {

std::vector<std::string> table_lines(const std::vector<TableRow>& rows, int widest) {
  std::vector<int> widths;
  for (const auto& row : rows) {
    widths.resize(std::max(widths.size(), row.size()));
    for (std::size_t i = 0; i < row.size(); ++i)
      widths[i] = std::max(widths[i], std::min(widest, characters_in(row[i])));
  }
  std::vector<std::string> lines;
  for (const auto& row : rows) {
    auto& line = lines.emplace_back();
    for (std::size_t i = 0; i < row.size(); ++i) {
      const int missing = std::max(0, widths[i] - characters_in(row[i]));
      line += row[i] + std::string(static_cast<std::size_t>(missing) + 2, ' ');
    }
    line.erase(line.find_last_not_of(' ') + 1);
  }
  return lines;
}

std::string table_text(const std::vector<TableRow>& rows, const std::string& indent) {
  std::string text;
  for (const auto& line : table_lines(rows)) text += indent + line + "\n";
  return text;
}

}  // namespace dllaunch
