// A inter_node: one rank of every node, which together finish what each has reduced within its
// node. All columns work at once, so that a node's network cards are all busy.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "runtime/communicators/hierarchical/inter_node_limits.hpp"
#include "runtime/communicators/mpi/peers.hpp"
#include "runtime/communicators/reduction/reduction.hpp"

namespace dllaunch {

/// Exchanges under way are told apart by `step`, the same number on all nodes, never used twice at
/// a time. Bits do not depend on the node: each element is reduced in the order of nodes.
class InterNode {
 public:
  /// `peers` holds one rank per node, in the order of nodes.
  InterNode(std::unique_ptr<Peers> peers, InterNodeLimits limits)
      : peers_(std::move(peers)), limits_(limits) {}

  int node() const { return peers_->rank(); }
  int nodes() const { return peers_->size(); }

  /// The same on all nodes. With nothing under way.
  void set_limits(InterNodeLimits limits) { limits_ = limits; }
  InterNodeLimits limits() const { return limits_; }

  /// In place, everywhere the same bits.
  Pending all_reduce(std::byte* data, std::size_t count, const Reduction& reduction,
                     std::uint64_t step);

  /// A block of a step: the node it belongs to, this node's contribution or copy of it, and, for a
  /// block of this node, where its result goes.
  struct Block {
    int node = 0;
    std::byte* data = nullptr;
    std::byte* result = nullptr;
  };
  /// Each block's result is the reduction of what all nodes have of it, on the block's node only.
  /// At least one block. The same order of blocks on all nodes.
  Pending reduce_scatter(std::vector<Block> blocks, std::size_t count, const Reduction& reduction,
                         std::uint64_t step);
  /// Each block comes to be on every node.
  Pending all_gather(const std::vector<Block>& blocks, std::size_t bytes, std::uint64_t step);
  Pending broadcast(std::byte* data, std::size_t bytes, int root);
  Pending barrier();

  void progress() { peers_->progress(); }
  bool is_done(Pending exchange) const { return peers_->is_done(exchange); }

 private:
  struct Parts;
  Pending exchange_whole(std::byte* data, std::size_t count, const Reduction& reduction,
                         std::uint64_t step);
  Pending exchange_parts(std::byte* data, std::size_t count, const Reduction& reduction,
                         std::uint64_t step);
  void reduce_nodes(std::byte* own, const std::byte* others, std::size_t count,
                    const Reduction& reduction, std::byte* result) const;

  std::unique_ptr<Peers> peers_;
  InterNodeLimits limits_;
};

}  // namespace dllaunch
