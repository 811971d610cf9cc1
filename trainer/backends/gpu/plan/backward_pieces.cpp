#include "trainer/backends/gpu/plan/backward_pieces.hpp"

#include <algorithm>

namespace dllaunch::gpu {

std::vector<BackwardPiece> node_pieces(const Graph& graph) {
  std::vector<BackwardPiece> pieces;
  int slot = 0;
  for (int n = static_cast<int>(graph.nodes.size()) - 1; n > 0; --n) {
    const Node& node = graph.nodes[static_cast<std::size_t>(n)];
    const int slots = node.shares ? 0 : static_cast<int>(node.parameters.size());
    pieces.push_back({n, n, slot, slots});
    slot += slots;
  }
  return pieces;
}

std::vector<BackwardPiece> joined_pieces(const Graph& graph, std::span<const int> last_slots) {
  std::vector<BackwardPiece> joined;
  bool ended = true;
  for (const BackwardPiece& node : node_pieces(graph)) {
    if (ended) {
      joined.push_back(node);
    } else {
      joined.back().last_node = node.last_node;
      joined.back().slots += node.slots;
    }
    const auto first = std::ranges::lower_bound(last_slots, node.first_slot);
    ended = first != last_slots.end() && *first < node.first_slot + node.slots;
  }
  return joined;
}

BackwardSchedule::BackwardSchedule(const Graph& graph)
    : graph_(graph),
      of_nodes_(node_pieces(graph)),
      joined_(joined_pieces(graph, {})),
      before_(graph.nodes.size()),
      last_readers_(graph.parameters.size()) {
  before_.back().resize(graph.nodes.size());
  for (std::size_t n = 0; n < graph.nodes.size(); ++n) {
    for (const int parameter : graph.nodes[n].parameters) {
      last_readers_[static_cast<std::size_t>(parameter)] = n;
    }
  }
}

void BackwardSchedule::hold_until(std::span<const int> last_slots) {
  if (std::ranges::equal(last_slots, held_until_)) return;
  held_until_.assign(last_slots.begin(), last_slots.end());
  joined_ = joined_pieces(graph_, held_until_);
}

void BackwardSchedule::begin(const BackwardPiece& piece) {
  written_ = before_[static_cast<std::size_t>(piece.first_node)];
}

void BackwardSchedule::end(const BackwardPiece& piece) {
  before_[static_cast<std::size_t>(piece.last_node) - 1] = written_;
}

bool BackwardSchedule::adds(int node) {
  const auto at = static_cast<std::size_t>(node);
  const bool there = written_[at];
  written_[at] = true;
  return there;
}

}  // namespace dllaunch::gpu
