#include "launcher/monitor/line_merger.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

namespace dllaunch {

void LineMerger::take(int rank, std::string_view node, std::string text, double now_s) {
  const bool without_rank = rank < 0 || rank > IdSet::max_id;
  if (!without_rank) {
    auto& waiting = by_text_[text];
    auto& last = last_[rank];
    // The earliest group not before this rank's last line: keeps its order.
    const auto found = std::ranges::lower_bound(waiting, std::max(last, first_));
    if (found != waiting.end()) {
      groups_[static_cast<std::size_t>(*found - first_)].ranks.insert(rank);
      last = *found + 1;
      return;
    }
    waiting.push_back(first_ + groups_.size());
    last = waiting.back() + 1;
  }
  bytes_ += text.size();
  Group group{.text = std::move(text), .node = std::string(node), .ranks = {}, .since_s = now_s};
  if (!without_rank) group.ranks.insert(rank);
  groups_.push_back(std::move(group));
}

std::string LineMerger::pop() {
  Group group = std::move(groups_.front());
  groups_.pop_front();
  if (const auto waiting = by_text_.find(group.text); waiting != by_text_.end()) {
    auto& numbers = waiting->second;
    // Numbers of released groups stay until they are half of all: each costs constant time.
    if (numbers.back() <= first_) {
      by_text_.erase(waiting);
    } else if (numbers[numbers.size() / 2] <= first_) {
      numbers.erase(numbers.begin(), std::ranges::upper_bound(numbers, first_));
    }
  }
  ++first_;
  bytes_ -= group.text.size();
  const int count = group.ranks.size();
  if (count == 0) return fmt::format("[{}] {}", group.node, group.text);
  if (count > 1) return fmt::format("ranks {}: {}", short_rank_list(group.ranks), group.text);
  const int rank = group.ranks.first();
  return group.node.empty() ? fmt::format("[{}] {}", rank, group.text)
                            : fmt::format("[{}:{}] {}", group.node, rank, group.text);
}

std::vector<std::string> LineMerger::ripe(double now_s) {
  std::vector<std::string> lines;
  // A clock set back must not hold lines forever.
  const auto waits = [&](const Group& group) {
    return now_s >= group.since_s && now_s - group.since_s < window_s;
  };
  while (!groups_.empty() && (crowded() || !waits(groups_.front()))) lines.push_back(pop());
  return lines;
}

std::vector<std::string> LineMerger::rest() {
  std::vector<std::string> lines;
  lines.reserve(groups_.size());
  while (!groups_.empty()) lines.push_back(pop());
  return lines;
}

std::string short_rank_list(const IdSet& ranks) {
  constexpr std::size_t most = 40;
  std::string list = to_list(ranks);
  if (list.size() <= most) return list;
  return fmt::format("{},... ({} of them)", list.substr(0, list.rfind(',', most - 1)),
                     ranks.size());
}

}  // namespace dllaunch
