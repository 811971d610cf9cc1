// Splits the backward pass into pieces, after each of which gradients are reported. Pure.
#pragma once

#include <span>
#include <vector>

#include "trainer/graph/graph.hpp"

namespace dllaunch::gpu {

/// Nodes first_node, first_node - 1, ..., last_node, and the slots that are final after them.
struct BackwardPiece {
  int first_node = 0;
  int last_node = 0;
  int first_slot = 0;
  int slots = 0;
  bool operator==(const BackwardPiece&) const = default;
};

/// Returns one piece per node except the input, from the last to the first.
std::vector<BackwardPiece> node_pieces(const Graph& graph);

/// Returns the same pieces joined: one ends where one of `last_slots` (ascending) becomes final,
/// and the last at the first node.
std::vector<BackwardPiece> joined_pieces(const Graph& graph, std::span<const int> last_slots);

/// The pieces of successive backward passes, and which nodes' gradients have been written so far.
/// That depends only on the graph, so after one full pass, pieces may be skipped (replayed by a
/// graph).
class BackwardSchedule {
 public:
  /// `graph` must outlive it.
  explicit BackwardSchedule(const Graph& graph);

  /// See Executable::hold_ready_until().
  void hold_until(std::span<const int> last_slots);
  const std::vector<BackwardPiece>& pieces(bool joined) const {
    return joined ? joined_ : of_nodes_;
  }

  void begin(const BackwardPiece& piece);
  void end(const BackwardPiece& piece);
  /// Marks the gradient of `node` as written. Returns whether it was already, so that the caller
  /// adds.
  bool adds(int node);
  /// Whether the backward pass of a later node has written the gradient of this parameter of
  /// `node`: they share it.
  bool shares_gradient(std::size_t node, int parameter) const {
    return last_readers_[static_cast<std::size_t>(parameter)] > node;
  }

 private:
  const Graph& graph_;
  std::vector<BackwardPiece> of_nodes_;
  std::vector<BackwardPiece> joined_;
  std::vector<int> held_until_;
  std::vector<bool> written_;              // by node
  std::vector<std::vector<bool>> before_;  // written_ before each node's backward pass
  std::vector<std::size_t> last_readers_;  // by parameter
};

}  // namespace dllaunch::gpu
