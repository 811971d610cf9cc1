#include "launcher/lint/unified_diff.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <vector>

namespace dllaunch::lint {
namespace {

using Lines = std::vector<std::string_view>;  // with their newlines

constexpr std::size_t context = 3;

Lines lines_of(std::string_view text) {
  Lines lines;
  for (std::size_t i = 0; i < text.size();) {
    const std::size_t newline = text.find('\n', i);
    const std::size_t end = newline == std::string_view::npos ? text.size() : newline + 1;
    lines.push_back(text.substr(i, end - i));
    i = end;
  }
  return lines;
}

/// Lines before[begin, end) become after[begin, end).
struct Change {
  std::size_t before_begin = 0;
  std::size_t before_end = 0;
  std::size_t after_begin = 0;
  std::size_t after_end = 0;
};

/// The next position after (i, j) where both texts agree again, skipping the fewest lines. Edits
/// are local, so the search is narrow.
bool find_meeting(const Lines& before, const Lines& after, std::size_t& i, std::size_t& j) {
  constexpr std::size_t widest = 2000;
  for (std::size_t skipped = 1; skipped <= widest; ++skipped) {
    for (std::size_t left = 0; left <= skipped; ++left) {
      const std::size_t a = i + left;
      const std::size_t b = j + skipped - left;
      if (a < before.size() && b < after.size() && before[a] == after[b]) {
        i = a;
        j = b;
        return true;
      }
    }
  }
  return false;
}

std::vector<Change> changes_of(const Lines& before, const Lines& after) {
  std::vector<Change> changes;
  std::size_t i = 0;
  std::size_t j = 0;
  while (i < before.size() || j < after.size()) {
    if (i < before.size() && j < after.size() && before[i] == after[j]) {
      ++i;
      ++j;
      continue;
    }
    Change change{i, before.size(), j, after.size()};
    if (find_meeting(before, after, i, j)) {
      change.before_end = i;
      change.after_end = j;
    } else {
      i = before.size();
      j = after.size();
    }
    changes.push_back(change);
  }
  return changes;
}

void add_line(std::string& out, char sign, std::string_view line) {
  out += sign;
  out += line;
  if (!line.ends_with('\n')) out += "\n\\ No newline at end of file\n";
}

/// "12,3", "12"; an empty range has the number of the line before it.
std::string range(std::size_t begin, std::size_t count) {
  if (count == 1) return fmt::format("{}", begin + 1);
  return fmt::format("{},{}", count == 0 ? begin : begin + 1, count);
}

}  // namespace

std::string unified_diff(const std::string& file, std::string_view before, std::string_view after) {
  const Lines old_lines = lines_of(before);
  const Lines new_lines = lines_of(after);
  const std::vector<Change> changes = changes_of(old_lines, new_lines);
  if (changes.empty()) return "";
  // A tab ends the file name (a timestamp may follow), so that names may contain blanks.
  const std::string name = file.find(' ') == std::string::npos ? file : file + "\t";
  std::string out = fmt::format("--- {}\n+++ {}\n", name, name);
  for (std::size_t first = 0; first < changes.size();) {
    std::size_t last = first;
    while (last + 1 < changes.size() &&
           changes[last + 1].before_begin - changes[last].before_end <= 2 * context) {
      ++last;
    }
    const std::size_t lead = std::min(context, changes[first].before_begin);
    const std::size_t tail = std::min(context, old_lines.size() - changes[last].before_end);
    const std::size_t old_begin = changes[first].before_begin - lead;
    const std::size_t new_begin = changes[first].after_begin - lead;
    out += fmt::format("@@ -{} +{} @@\n",
                       range(old_begin, changes[last].before_end + tail - old_begin),
                       range(new_begin, changes[last].after_end + tail - new_begin));
    std::size_t at = old_begin;
    for (std::size_t k = first; k <= last; ++k) {
      for (; at < changes[k].before_begin; ++at) add_line(out, ' ', old_lines[at]);
      for (; at < changes[k].before_end; ++at) add_line(out, '-', old_lines[at]);
      for (std::size_t j = changes[k].after_begin; j < changes[k].after_end; ++j) {
        add_line(out, '+', new_lines[j]);
      }
    }
    for (const std::size_t end = at + tail; at < end; ++at) add_line(out, ' ', old_lines[at]);
    first = last + 1;
  }
  return out;
}

}  // namespace dllaunch::lint
