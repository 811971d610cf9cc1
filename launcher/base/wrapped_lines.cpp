#include "launcher/base/wrapped_lines.hpp"

#include <algorithm>

#include "launcher/base/utf8.hpp"

namespace dllaunch {

std::vector<std::string> wrapped_lines(std::string_view text, std::size_t width) {
  std::vector<std::string> lines;
  std::size_t used = 0;  // characters of the last line
  while (true) {
    text.remove_prefix(std::min(text.find_first_not_of(' '), text.size()));
    if (text.empty()) return lines;
    const std::string_view word = text.substr(0, text.find(' '));
    const auto length = static_cast<std::size_t>(characters_in(word));
    if (lines.empty() || used + 1 + length > width) {
      lines.emplace_back(word);
      used = length;
    } else {
      lines.back().append(" ").append(word);
      used += 1 + length;
    }
    text.remove_prefix(word.size());
  }
}

}  // namespace dllaunch
