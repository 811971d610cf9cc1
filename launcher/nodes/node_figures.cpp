#include "launcher/nodes/node_figures.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cstddef>
#include <optional>
#include <tuple>

#include "launcher/nodes/judge_nodes.hpp"
#include "launcher/preflight/outliers.hpp"

namespace dllaunch {
namespace {

constexpr std::size_t newest = 2;
constexpr std::size_t fewest_before = 3;

/// One figure of one node.
struct Measured {
  double value = 0;                 // the better of the newest two
  double time = 0;                  // of the newest
  std::optional<double> past = {};  // the median of those before
  double past_share() const { return past && *past > 0 ? value / *past : 1; }
};

using FigureKey = std::tuple<std::string, std::string, std::string>;  // cluster, what, like
using Figures = std::map<FigureKey, std::map<std::string, Measured>>;

Measured measured_of(std::vector<const NodeSighting*> all) {
  std::ranges::stable_sort(all, std::greater(), &NodeSighting::time);
  Measured found{.value = all[0]->value, .time = all[0]->time};
  if (all.size() > 1) found.value = std::max(found.value, all[1]->value);
  if (all.size() < newest + fewest_before) return found;
  std::vector<double> before;
  for (std::size_t i = newest; i < all.size(); ++i) before.push_back(all[i]->value);
  found.past = median_of(std::move(before));
  return found;
}

Figures figures_in(const std::vector<NodeSighting>& seen, double now) {
  std::map<FigureKey, std::map<std::string, std::vector<const NodeSighting*>>> all;
  for (const auto& one : seen) {
    if (one.kind != SightingKind::measured || one.value <= 0) continue;
    if (!is_remembered(one.time, now)) continue;
    all[{one.cluster, one.what, one.like}][one.nodes].push_back(&one);
  }
  Figures figures;
  for (auto& [key, nodes] : all)
    for (auto& [node, observations] : nodes) figures[key][node] = measured_of(observations);
  return figures;
}

/// Medians over all nodes but one.
class MedianOfOthers {
 public:
  MedianOfOthers(const std::map<std::string, Measured>& nodes, auto value_of) {
    for (const auto& [node, measured] : nodes) sorted_.push_back(value_of(measured));
    std::ranges::sort(sorted_);
  }
  /// Without one value of `own`; the lower middle of an even number. 0: there are no others.
  double without(double own) const {
    if (sorted_.size() < 2) return 0;
    const std::size_t middle = (sorted_.size() - 2) / 2;
    const auto at = std::ranges::lower_bound(sorted_, own) - sorted_.begin();
    return sorted_[static_cast<std::size_t>(at) <= middle ? middle + 1 : middle];
  }

 private:
  std::vector<double> sorted_;
};

void keep_slower(const SlowFigure& figure, SlowFigure& kept) {
  if (figure.share < kept.share || kept.words.empty()) kept = figure;
}

/// What all nodes have become is no fault of one.
double beside_others(double past_share, const MedianOfOthers& past_shares, std::size_t nodes) {
  const double usual = nodes > 1 ? std::min(1.0, past_shares.without(past_share)) : 1;
  return usual > 0 ? past_share / usual : past_share;
}

}  // namespace

std::map<NodeKey, SlowFigure> slow_figures(const std::vector<NodeSighting>& seen, double now) {
  std::map<NodeKey, SlowFigure> slow;
  for (const auto& [key, nodes] : figures_in(seen, now)) {
    const auto& [cluster, what, like] = key;
    const MedianOfOthers values(nodes, [](const Measured& one) { return one.value; });
    const MedianOfOthers shares(nodes, [](const Measured& one) { return one.past_share(); });
    for (const auto& [node, one] : nodes) {
      if (const double others = values.without(one.value); others > 0) {
        const double share = one.value / others;
        keep_slower({std::min(1.0, share), one.time,
                     fmt::format("{} {:.1f}, {:.2f} of the other nodes' {:.1f}", what, one.value,
                                 share, others)},
                    slow[{cluster, node}]);
      }
      if (!one.past) continue;
      const double share = beside_others(one.past_share(), shares, nodes.size());
      keep_slower({std::min(1.0, share), one.time,
                   fmt::format("{} {:.1f}, {:.2f} of its own {:.1f} before", what, one.value,
                               one.past_share(), *one.past)},
                  slow[{cluster, node}]);
    }
  }
  return slow;
}

}  // namespace dllaunch
