#include "launcher/base/nearest_name.hpp"

#include <algorithm>
#include <cctype>
#include <vector>

namespace dllaunch {
namespace {

// Longer words are not typos of a letter or two, and the distance costs length squared.
constexpr std::size_t longest_word = 64;

std::string lower(std::string_view word) {
  std::string text(word);
  for (char& letter : text) {
    letter = static_cast<char>(std::tolower(static_cast<unsigned char>(letter)));
  }
  return text;
}

/// Optimal string alignment: a swap of neighbours counts one.
std::size_t edit_distance(const std::string& a, const std::string& b) {
  std::vector<std::size_t> before_last(b.size() + 1);
  std::vector<std::size_t> last(b.size() + 1);
  std::vector<std::size_t> now(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) last[j] = j;

  for (std::size_t i = 1; i <= a.size(); ++i) {
    now[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t replaced = last[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      now[j] = std::min({last[j] + 1, now[j - 1] + 1, replaced});
      const bool swapped = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
      if (swapped) now[j] = std::min(now[j], before_last[j - 2] + 1);
    }
    std::swap(before_last, last);
    std::swap(last, now);
  }
  return last[b.size()];
}

}  // namespace

std::optional<std::string> nearest_name(std::string_view word, std::span<const std::string> known) {
  if (word.empty() || word.size() > longest_word) return std::nullopt;
  const std::string typed = lower(word);

  std::optional<std::string> nearest;
  std::size_t least = 0;
  for (const std::string& name : known) {
    const std::size_t distance = edit_distance(typed, lower(name));
    const std::size_t allowed = std::max<std::size_t>(1, std::max(typed.size(), name.size()) / 3);
    // A two-letter word with one letter changed has too little in common.
    if (distance > allowed || distance >= std::min(typed.size(), name.size())) continue;
    if (!nearest || distance < least) {
      nearest = name;
      least = distance;
    }
  }
  return nearest;
}

}  // namespace dllaunch
