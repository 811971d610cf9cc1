// An inter-node group: one rank of every node. Together they complete what each has reduced within
// its node. All groups work at once, to use every network card of a node.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "runtime/allreduce/model/inter_node_limits.hpp"
#include "runtime/communicators/hierarchical/leaf_exchange.hpp"
#include "runtime/communicators/peers/peers.hpp"
#include "runtime/communicators/reduction/reduction.hpp"

namespace dllaunch {

/// `step` identifies an exchange: the same number on all nodes, unique among those in progress.
/// Results have the same bits on all nodes, by whatever algorithm: each element is reduced in node
/// order, or where the network's leaves are known, over each leaf first.
class InterNode {
 public:
  /// `peers` holds one rank per node, in node order. `leaves`: the network's, if known.
  InterNode(std::unique_ptr<Peers> peers, InterNodeLimits limits,
            std::optional<NodeLeaves> leaves = {})
      : peers_(std::move(peers)), limits_(limits), leaves_(std::move(leaves)) {}

  int node() const { return peers_->rank(); }
  int nodes() const { return peers_->size(); }

  /// Equal on all nodes. Call it with no exchange in progress.
  void set_limits(InterNodeLimits limits) { limits_ = limits; }
  InterNodeLimits limits() const { return limits_; }
  bool knows_leaves() const { return leaves_.has_value(); }

  /// In place, with the same bits on every node.
  Pending all_reduce(std::byte* data, std::size_t count, const Reduction& reduction,
                     std::uint64_t step);

  /// A block of a step: its node, this node's contribution or copy, and, if it belongs to this
  /// node, where its result goes.
  struct Block {
    int node = 0;
    std::byte* data = nullptr;
    std::byte* result = nullptr;
  };
  /// Reduces each block over all nodes; only the block's node gets the result. At least one block,
  /// in the same order on all nodes.
  Pending reduce_scatter(std::vector<Block> blocks, std::size_t count, const Reduction& reduction,
                         std::uint64_t step);
  /// Copies each block to every node.
  Pending all_gather(const std::vector<Block>& blocks, std::size_t bytes, std::uint64_t step);
  Pending broadcast(std::byte* data, std::size_t bytes, int root);
  Pending barrier();

  void progress() { peers_->progress(); }
  bool is_done(Pending exchange) const { return peers_->is_done(exchange); }

 private:
  Pending exchange_whole(std::byte* data, std::size_t count, const Reduction& reduction,
                         std::uint64_t step);
  Pending exchange_parts(std::byte* data, std::size_t count, const Reduction& reduction,
                         std::uint64_t step);
  void reduce_nodes(std::byte* own, const std::byte* others, std::size_t count,
                    const Reduction& reduction, std::byte* result) const;

  std::unique_ptr<Peers> peers_;
  InterNodeLimits limits_;
  std::optional<NodeLeaves> leaves_;
};

}  // namespace dllaunch
