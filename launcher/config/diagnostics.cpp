#include "launcher/config/diagnostics.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <vector>

#include "launcher/base/utf8.hpp"

namespace dllaunch {
namespace {

constexpr int widest_source = 160;  // most characters of a line shown around the caret

std::vector<std::string> characters_of(std::string_view text) {
  std::vector<std::string> characters;
  while (!text.empty()) {
    const std::size_t length = std::max<std::size_t>(1, utf8_length(text));
    characters.push_back(printable(text.substr(0, length)));
    text.remove_prefix(length);
  }
  return characters;
}

/// The line, and the caret below it. Keeps tabs before the caret, so that it lines up at any tab
/// width.
std::string render_source(const Diagnostic& problem, bool color) {
  const auto characters = characters_of(problem.source);
  const auto count = static_cast<int>(characters.size());
  const int caret = std::clamp(problem.column - 1, 0, count);
  const int begin = count <= widest_source ? 0 : std::max(0, caret - widest_source / 2);
  const int end = std::min(count, begin + widest_source);

  std::string line = begin > 0 ? "..." : "";
  std::string below(line.size(), ' ');
  for (int i = begin; i < end; ++i) {
    const std::string& shown = characters[static_cast<std::size_t>(i)];
    line += shown;
    if (i >= caret) continue;
    below +=
        shown == "\t" ? "\t" : std::string(static_cast<std::size_t>(characters_in(shown)), ' ');
  }
  if (end < count) line += "...";
  return fmt::format("  {}\n  {}{}\n", line, below, color ? "\033[1;32m^\033[0m" : "^");
}

}  // namespace

std::string render(std::span<const Diagnostic> problems, bool color) {
  std::string text;
  for (const Diagnostic& problem : problems) {
    text += fmt::format("{}:{}:{}: {} {}\n", problem.file, problem.line, problem.column,
                        color ? "\033[1;31merror:\033[0m" : "error:", problem.message);
    text += render_source(problem, color);
  }
  return text;
}

}  // namespace dllaunch
