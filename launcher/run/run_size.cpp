#include "launcher/run/run_size.hpp"

#include <fmt/core.h>

#include <algorithm>

namespace dllaunch {

std::vector<int> sizes_in(const Journal& journal, const RunOutline& plan, const std::string& job) {
  std::vector<int> sizes;
  for (const auto& attempt : journal.history) {
    // A run within an allocation has more words: "17 start 2".
    const bool ours = attempt.job.substr(0, attempt.job.find(' ')) == job;
    const bool known = plan.recovery.elastic() && attempt.nodes > 0;
    if (!ours || !known || attempt.cause == Cause::not_started) continue;
    const int nodes = std::min(attempt.nodes, plan.nodes);
    if (sizes.empty() || sizes.back() != nodes) sizes.push_back(nodes);
  }
  return sizes;
}

int ranks_now(const RunOutline& plan, const std::vector<int>& sizes) {
  return sizes.empty() ? plan.ranks() : sizes.back() * plan.ranks_per_node;
}

std::string rank_words(const RunOutline& plan, const std::vector<int>& sizes) {
  const bool fewer = !sizes.empty() && sizes.back() < plan.nodes;
  return fmt::format("{} on {}{}", ranks_now(plan, sizes),
                     fewer ? fmt::format("{} of ", sizes.back()) : "", node_words(plan));
}

std::string change_words(const RunOutline& plan, const std::vector<int>& sizes) {
  if (sizes.size() < 2) return "";
  std::string words;
  for (const int nodes : sizes)
    words += fmt::format("{}{}", words.empty() ? "ranks " : ", then ", nodes * plan.ranks_per_node);
  return words;
}

}  // namespace dllaunch
