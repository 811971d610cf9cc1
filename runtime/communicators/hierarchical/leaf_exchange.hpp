// All-reduce between nodes that hang below the leaves of a network with slow uplinks.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "runtime/communicators/peers/peers.hpp"
#include "runtime/communicators/reduction/reduction.hpp"

namespace dllaunch {

/// Which nodes hang below one leaf. A leaf's nodes follow each other in node order.
class NodeLeaves {
 public:
  /// `sizes`: nodes of each leaf, each at least 1; at least one leaf.
  explicit NodeLeaves(const std::vector<int>& sizes);

  int leaves() const { return static_cast<int>(first_.size()) - 1; }
  int leaf_of(int node) const { return leaf_[static_cast<std::size_t>(node)]; }
  int first(int leaf) const { return first_[static_cast<std::size_t>(leaf)]; }
  int size(int leaf) const { return first(leaf + 1) - first(leaf); }
  /// The node of `leaf` that sums `part` for it: the part's own node if it hangs there, else one of
  /// its nodes in turn.
  int proxy(int leaf, int part) const;

 private:
  std::vector<int> leaf_;   // of each node
  std::vector<int> first_;  // node of each leaf, and the end
};

/// Reduces over all nodes, those of each leaf first: the bits that an exchange through the leaves
/// gives. `sources`: one for each node, in order.
void reduce_by_leaf(const NodeLeaves& leaves, std::span<const std::byte* const> sources,
                    std::size_t count, const Reduction& reduction, std::byte* result);

/// One exchange, in place. Part j belongs to node j, as in an exchange without leaves. In each leaf
/// a proxy sums the leaf's contributions to a part; the part's node sums those of the leaves; the
/// sum goes back the same way. With M nodes in L leaves of S each, an uplink carries
/// 2 (L - 1)/L n bytes in and out instead of 2 S (M - S)/M n, and a node still sends and receives
/// 2 (M - 1)/M n.
struct LeafExchange {
  Peers& peers;
  const NodeLeaves& leaves;
  std::byte* data = nullptr;
  std::size_t count = 0;
  Reduction reduction = {};
  std::array<std::uint64_t, 2> rounds = {};  // of this exchange alone
};

/// Begins it. The result has the same bits on all nodes. Referenced objects and `data` stay until
/// it is done.
Pending begin(const LeafExchange& exchange);

}  // namespace dllaunch
