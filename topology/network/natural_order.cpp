#include "topology/network/natural_order.hpp"

#include <algorithm>

namespace dllaunch {
namespace {

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

/// The digits at the start.
std::string_view number(std::string_view text) {
  const auto end = std::ranges::find_if_not(text, is_digit);
  return text.substr(0, static_cast<std::size_t>(end - text.begin()));
}

std::string_view without_zeros(std::string_view digits) {
  return digits.substr(std::min(digits.find_first_not_of('0'), digits.size()));
}

}  // namespace

bool counts_before(std::string_view a, std::string_view b) {
  int by_width = 0;  // of the first two numbers that differ in width only
  while (!a.empty() && !b.empty()) {
    const auto left = number(a);
    const auto right = number(b);
    if (left.empty() || right.empty()) {
      if (a[0] != b[0]) return static_cast<unsigned char>(a[0]) < static_cast<unsigned char>(b[0]);
      a.remove_prefix(1);
      b.remove_prefix(1);
      continue;
    }
    const auto value = without_zeros(left);
    const auto other = without_zeros(right);
    if (value.size() != other.size()) return value.size() < other.size();
    if (value != other) return value < other;
    if (by_width == 0 && left.size() != right.size())
      by_width = left.size() < right.size() ? -1 : 1;
    a.remove_prefix(left.size());
    b.remove_prefix(right.size());
  }
  if (a.empty() != b.empty()) return a.empty();
  return by_width < 0;
}

}  // namespace dllaunch
