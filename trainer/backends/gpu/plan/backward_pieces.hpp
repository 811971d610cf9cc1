// Where the backward pass tells of gradients. Pure.
#pragma once

#include <span>
#include <vector>

#include "trainer/graph/graph.hpp"

namespace dllaunch::gpu {

/// Nodes first_node, first_node - 1, ..., last_node, and the slots that are final behind them.
struct BackwardPiece {
  int first_node = 0;
  int last_node = 0;
  int first_slot = 0;
  int slots = 0;
  bool operator==(const BackwardPiece&) const = default;
};

/// One for each node but the input, from the last to the first.
std::vector<BackwardPiece> node_pieces(const Graph& graph);

/// The same joined, so that a piece ends where one of `last_slots` (ascending) is final, and at the
/// first node.
std::vector<BackwardPiece> joined_pieces(const Graph& graph, std::span<const int> last_slots);

/// The pieces of one backward pass after another, and which nodes' gradients hold something
/// already. That depends on the graph alone, so a piece may be left out whose kernels ran
/// otherwise, once all have been run.
class BackwardSchedule {
 public:
  /// `graph` outlives it.
  explicit BackwardSchedule(const Graph& graph);

  /// As Executable::hold_ready_until().
  void hold_until(std::span<const int> last_slots);
  const std::vector<BackwardPiece>& pieces(bool joined) const {
    return joined ? joined_ : of_nodes_;
  }

  void begin(const BackwardPiece& piece);
  void end(const BackwardPiece& piece);
  /// Something goes into the gradient of node `node`: whether it adds to what is there.
  bool adds(int node);

 private:
  const Graph& graph_;
  std::vector<BackwardPiece> of_nodes_;
  std::vector<BackwardPiece> joined_;
  std::vector<int> held_until_;
  std::vector<bool> written_;              // by node
  std::vector<std::vector<bool>> before_;  // written_ as it was before a node's backward pass
};

}  // namespace dllaunch::gpu
