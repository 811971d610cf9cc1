#include "launcher/base/split.hpp"

namespace dllaunch {

std::vector<std::string_view> list_of_lines(std::string_view text) {
  std::vector<std::string_view> lines;
  for (const auto line : split_lines(text)) lines.push_back(line);
  return lines;
}

std::string_view last_line(std::string_view text) {
  if (text.ends_with('\n')) text.remove_suffix(1);
  return text.substr(text.rfind('\n') + 1);
}

std::vector<std::string_view> split_at(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  while (true) {
    const auto end = text.find(separator);
    parts.push_back(text.substr(0, end));
    if (end == std::string_view::npos) return parts;
    text.remove_prefix(end + 1);
  }
}

}  // namespace dllaunch
