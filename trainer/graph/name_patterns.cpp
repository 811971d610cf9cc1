#include "trainer/graph/name_patterns.hpp"

#include <algorithm>

#include <fmt/format.h>

namespace dllaunch {
namespace {

bool is_taken_out(std::string_view pattern) {
  return pattern.starts_with('!');
}

std::string_view without_mark(std::string_view pattern) {
  return pattern.substr(is_taken_out(pattern) ? 1 : 0);
}

/// Glob match. Backtracks only to the latest `*`, so it takes O(pattern * text) time.
bool is_like(std::string_view pattern, std::string_view text) {
  std::size_t p = 0;
  std::size_t t = 0;
  std::size_t star = std::string_view::npos;
  std::size_t behind_star = 0;  // position in the text after the star
  while (t < text.size()) {
    if (p < pattern.size() && pattern[p] == '*') {
      star = p++;
      behind_star = t;
    } else if (p < pattern.size() && (pattern[p] == '?' || pattern[p] == text[t])) {
      ++p;
      ++t;
    } else if (star != std::string_view::npos) {
      p = star + 1;
      t = ++behind_star;
    } else {
      return false;
    }
  }
  return pattern.find_first_not_of('*', p) == std::string_view::npos;
}

}  // namespace

bool pattern_matches(std::string_view pattern, std::string_view name) {
  for (std::size_t end = name.find('.'); end != std::string_view::npos;
       end = name.find('.', end + 1)) {
    if (is_like(pattern, name.substr(0, end))) return true;
  }
  return is_like(pattern, name);
}

bool is_selected(std::span<const std::string> patterns, std::string_view name) {
  bool selected = !patterns.empty() && is_taken_out(patterns.front());
  for (const std::string& pattern : patterns) {
    if (pattern_matches(without_mark(pattern), name)) selected = !is_taken_out(pattern);
  }
  return selected;
}

std::vector<std::string> unmatched_patterns(std::span<const std::string> patterns,
                                            std::span<const std::string> names) {
  std::vector<std::string> useless;
  for (const std::string& pattern : patterns) {
    const bool used = std::ranges::any_of(names, [&](const std::string& name) {
      return pattern_matches(without_mark(pattern), name);
    });
    if (!used) useless.push_back(pattern);
  }
  return useless;
}

std::string name_prefixes(const std::vector<std::string>& names) {
  constexpr std::size_t most = 12;
  std::vector<std::string> parts;
  for (const std::string& name : names) {
    const std::string part = name.substr(0, name.find('.'));
    if (std::ranges::find(parts, part) != parts.end()) continue;
    if (parts.size() == most) {
      parts.emplace_back("...");
      break;
    }
    parts.push_back(part);
  }
  return fmt::format("{}", fmt::join(parts, ", "));
}

}  // namespace dllaunch
