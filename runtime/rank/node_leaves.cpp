#include "runtime/rank/node_leaves.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <string_view>

#include "support/parse_number.hpp"

namespace dllaunch {

std::vector<int> node_leaves(const EnvLookup& lookup, int nodes) {
  const auto text = lookup(node_leaves_variable).value_or("");
  std::vector<int> leaves;
  std::string_view rest = text;
  int sum = 0;
  while (!rest.empty()) {
    const auto word = rest.substr(0, rest.find(','));
    rest.remove_prefix(std::min(rest.size(), word.size() + 1));
    const auto size = parse_number<int>(word);
    if (!size || *size < 1 || *size > nodes - sum) return {};
    sum += *size;
    leaves.push_back(*size);
  }
  if (sum != nodes || leaves.size() < 2) return {};
  return leaves;
}

std::string to_text(const std::vector<int>& leaves) {
  return fmt::format("{}", fmt::join(leaves, ","));
}

}  // namespace dllaunch
